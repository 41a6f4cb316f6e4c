//! Whose rights an Application's objects are written with.

use api::{AppProject, Application};
use cluster::Cluster;
use engine::project::{Impersonation, NoServiceAccount, acting_account};

use crate::destinations::Destination;

/// The cluster as the Application may write to it: as we may, or, where the
/// settings say so, as the service account may that the project names.
///
/// # Errors
/// When there is no such account, in words for the user.
pub(crate) fn acting(
    impersonation: Impersonation,
    project: &AppProject,
    app: &Application,
    destination: &Destination,
) -> Result<Cluster, String> {
    let cluster = &destination.cluster;
    let account = acting_account(impersonation, project, app, &destination.server);
    let acting = account.and_then(|account| match account {
        None => Ok(cluster.clone()),
        Some(account) => cluster.acting_as(&account).ok_or(NoServiceAccount::Name(account)),
    });
    acting.map_err(|why| match why {
        NoServiceAccount::NoneNamed { .. } => why.to_string(),
        why => format!("failed to derive service account to impersonate: {why}"),
    })
}
