// A provider for tests, from the package oidc-provider: node oidc_provider.mjs <folder of the package> <options as JSON>
//
// Whoever logs in is believed; the name they give is their id. Groups are told as the standard
// has it: at the userinfo endpoint, and in the token only when they are asked for there.

import { createServer } from 'node:https';
import { generateKeyPairSync } from 'node:crypto';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [folder, text] = process.argv.slice(2);
const { port, home, secret, certificate, key, algorithms } = JSON.parse(text);
const place = createRequire(pathToFileURL(`${folder}/`)).resolve('oidc-provider');
const { Provider } = await import(pathToFileURL(place));

const made = (type, options) =>
  generateKeyPairSync(type, options).privateKey.export({ format: 'jwk' });
const web = (algorithm) => ({
  client_id: `web-${algorithm}`,
  client_secret: secret,
  redirect_uris: [`${home}/auth/callback`],
  post_logout_redirect_uris: [home],
  grant_types: ['authorization_code', 'refresh_token'],
  id_token_signed_response_alg: algorithm,
});

const provider = new Provider(`https://127.0.0.1:${port}`, {
  clients: [
    ...algorithms.map(web),
    { ...web('RS256'), client_id: 'public', client_secret: undefined, token_endpoint_auth_method: 'none' },
  ],
  jwks: {
    keys: [made('rsa', { modulusLength: 2048 }), made('ec', { namedCurve: 'P-256' }), made('ed25519')],
  },
  enabledJWA: { idTokenSigningAlgValues: algorithms },
  claims: { openid: ['sub', 'sid'], email: ['email'], profile: ['name'], groups: ['groups'] },
  features: {
    claimsParameter: { enabled: true },
    devInteractions: { enabled: true },
    rpInitiatedLogout: { enabled: true },
  },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@example.org`, name: id, groups: ['sales', `${id}-only`] }),
  }),
  issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
  rotateRefreshToken: true,
  pkce: { required: (_, client) => client.clientId === 'public' },
  cookies: { keys: ['only for tests'] },
  ttl: { IdToken: 120, AccessToken: 3600, RefreshToken: 3600, Grant: 3600, Session: 3600, Interaction: 3600 },
});
provider.on('server_error', (_, error) => console.error(error));
createServer({ cert: certificate, key }, provider.callback()).listen(port, '127.0.0.1');
