//! What the caller supplies: remote bases and files, patches and components on
//! top of the kustomization, links.

use std::rc::Rc;

use bytes::Bytes;
use kustomize::{
    Files, MemoryFiles, NoRemote, Options, Overrides, PatchOverride, PatchTarget, Remote,
    RemoteBase, RemoteError, build,
};

fn tree(files: &[(&str, &str)]) -> MemoryFiles {
    files.iter().map(|(name, text)| (*name, (*text).to_owned())).collect()
}

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n")
}

#[track_caller]
fn check(files: &[(&str, &str)], overrides: &Overrides, remote: &dyn Remote, expect: &str) {
    let output = build(&tree(files), "", overrides, &Options::default(), remote);
    let text = output.map_or_else(|error| error.chain(), |output| output.text);
    assert_eq!(text, expect);
}

/// Serves one repository and one file.
struct Host;

impl Remote for Host {
    fn repository(&self, base: &RemoteBase) -> Result<Rc<dyn Files>, RemoteError> {
        if base.clone_url != "https://git.example.com/org/bases" || base.reference != "v1" {
            return Err(RemoteError::Refused(format!("host not allowed: {}", base.clone_url)));
        }
        Ok(Rc::new(tree(&[
            ("app/kustomization.yaml", "resources: [../shared, cm.yaml]\nnamePrefix: app-\n"),
            ("app/cm.yaml", &config_map("b")),
            ("shared/kustomization.yaml", "resources: [cm.yaml]\n"),
            ("shared/cm.yaml", &config_map("a")),
            ("outside/kustomization.yaml", "resources: [../shared/cm.yaml]\n"),
        ])))
    }

    fn file(&self, url: &str) -> Result<Bytes, RemoteError> {
        match url {
            "https://files.example.com/cm.yaml" => Ok(Bytes::from(config_map("remote"))),
            _ => Err(RemoteError::Status(404)),
        }
    }
}

#[test]
fn a_remote_base_is_built_where_it_is() {
    let kustomization = "resources:\n- https://git.example.com/org/bases//app?ref=v1\n\
                         - https://files.example.com/cm.yaml\nnameSuffix: -x\n";
    check(
        &[("kustomization.yaml", kustomization)],
        &Overrides::default(),
        &Host,
        &[config_map("app-a-x"), config_map("app-b-x"), config_map("remote-x")].join("---\n"),
    );
}

#[test]
fn what_the_port_refuses_is_not_built() {
    for (resource, reason) in [
        ("https://evil.example.com/org/bases?ref=v1", "host not allowed"),
        ("https://git.example.com/org/bases//outside?ref=v1", "is not in or below '/outside'"),
        ("https://files.example.com/nope.yaml", "HTTP Error: status code 404"),
    ] {
        let files = tree(&[("kustomization.yaml", &format!("resources: ['{resource}']\n"))]);
        let error = build(&files, "", &Overrides::default(), &Options::default(), &Host)
            .expect_err("the base cannot be built");
        assert!(error.chain().contains(reason), "{}", error.chain());
    }
}

#[test]
fn patches_are_added_to_those_of_the_file() {
    let overrides = Overrides {
        patches: vec![
            PatchOverride {
                patch: "- op: add\n  path: /data\n  value: {a: b}\n".to_owned(),
                target: Some(PatchTarget { name: "c.*".to_owned(), ..PatchTarget::default() }),
                ..PatchOverride::default()
            },
            PatchOverride {
                patch: format!("{}immutable: true\n", config_map("cm")),
                options: [("allowNameChange".to_owned(), true)].into(),
                ..PatchOverride::default()
            },
        ],
        ..Overrides::default()
    };
    let files = [("kustomization.yaml", "resources: [cm.yaml]\n"), ("cm.yaml", &config_map("cm"))];
    check(
        &files,
        &overrides,
        &NoRemote,
        "apiVersion: v1\ndata:\n  a: b\nimmutable: true\nkind: ConfigMap\nmetadata:\n  name: cm\n",
    );
}

#[test]
fn missing_components_may_be_left_out() {
    let files = [("kustomization.yaml", "resources: [cm.yaml]\n"), ("cm.yaml", &config_map("cm"))];
    let mut overrides = Overrides { components: vec!["nope".to_owned()], ..Overrides::default() };
    check(
        &files,
        &overrides,
        &NoRemote,
        "accumulating components: loader.New \"must build at directory: not a valid directory: \
         '/nope' doesn't exist\"",
    );
    overrides.ignore_missing_components = true;
    check(&files, &overrides, &NoRemote, &config_map("cm"));
}

/// A tree with one link.
struct Linked(MemoryFiles);

impl Files for Linked {
    fn read(&self, path: &str) -> Option<Bytes> {
        self.0.read(path)
    }

    fn is_dir(&self, path: &str) -> bool {
        self.0.is_dir(path)
    }

    fn below(&self, directory: &str) -> Vec<String> {
        self.0.below(directory)
    }

    fn real_path(&self, path: &str) -> Option<String> {
        match path {
            "app/link.yaml" => Some("secret/cm.yaml".to_owned()),
            "app/broken.yaml" => None,
            path => Some(path.to_owned()),
        }
    }
}

#[test]
fn a_link_does_not_lead_out_of_the_directory() {
    for (link, reason) in [
        ("link.yaml", "security; file '/app/link.yaml' is not in or below '/app'"),
        ("broken.yaml", "'/app/broken.yaml' doesn't exist"),
    ] {
        let files = Linked(tree(&[
            ("app/kustomization.yaml", &format!("resources: [{link}]\n")),
            ("secret/cm.yaml", &config_map("cm")),
        ]));
        let error = build(&files, "app", &Overrides::default(), &Options::default(), &NoRemote)
            .expect_err("the link is refused");
        assert!(error.chain().contains(reason), "{}", error.chain());
    }
}
