//! The API server on a real control plane, over REST and gRPC.
//!
//! One story, told by subject, over REST and over gRPC; `operations.rs` sees to it that no operation is left out.

mod application_sets;
mod applications;
mod assets;
mod browser;
mod client;
mod clusters;
mod dex;
mod extension_sockets;
mod extensions;
mod grpc;
mod hostile;
mod objects;
mod oidc_provider;
mod operations;
mod over_grpc;
mod partial_rights;
mod projects;
mod repositories;
mod rights;
mod sessions;
mod sso;
mod terminal;
mod trust;
mod world;

use std::panic::AssertUnwindSafe;

use api_server::{Shutdown, Web};
use cluster::{Access, Client};
use devcluster::DevCluster;
use futures::FutureExt as _;

use client::{Over, Rest};
use world::{PATIENCE, install, start};

#[test]
fn the_api_answers_over_rest() {
    tell(Over::Rest);
}

#[test]
fn the_api_answers_over_grpc() {
    tell(Over::Grpc);
}

/// Where the machine cannot have Dex, this says so and passes.
#[test]
#[expect(clippy::print_stderr, reason = "what was not tried must be seen")]
fn users_of_a_real_dex_log_in() {
    let report = |progress: &devcluster::Progress| eprintln!("{progress}");
    match devcluster::go_tool(devcluster::DEX, &report) {
        Ok(program) => {
            told(async move |control_plane: &DevCluster| dex::story(control_plane, program).await);
        }
        Err(error) => eprintln!("NOTICE: no login through Dex was tried: {error}"),
    }
}

/// Where the machine cannot have the provider, this says so and passes.
#[test]
#[expect(clippy::print_stderr, reason = "what was not tried must be seen")]
fn users_of_a_certified_provider_log_in() {
    let report = |progress: &devcluster::Progress| eprintln!("{progress}");
    match devcluster::npm_tool(devcluster::OIDC_PROVIDER, &report) {
        Ok(package) => told(async move |control_plane: &DevCluster| {
            oidc_provider::story(control_plane, &package).await;
        }),
        Err(error) => eprintln!("NOTICE: no login with oidc-provider was tried: {error}"),
    }
}

/// As the product's: unoptimised, a function that holds Applications takes much of a stack. The
/// story itself is one such function.
const STACK: usize = 16 << 20;

fn tell(over: Over) {
    told(async move |control_plane: &DevCluster| story(control_plane, over).await);
}

fn told(story: impl AsyncFnOnce(&DevCluster) + Send + 'static) {
    let teller = std::thread::Builder::new().stack_size(STACK).spawn(move || told_here(story));
    if let Err(panic) = teller.expect("a thread").join() {
        std::panic::resume_unwind(panic);
    }
}

fn told_here(story: impl AsyncFnOnce(&DevCluster)) {
    // Another test of this process may have been first.
    drop(rustls::crypto::ring::default_provider().install_default());
    let control_plane = DevCluster::start().expect("a control plane");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let story = story(&control_plane);
        tokio::time::timeout(PATIENCE, story).await.expect("the test ends in time");
    });
}

async fn story(control_plane: &DevCluster, over: Over) {
    let kubeconfig = control_plane.kubeconfig_path();
    let access = Access::from_kubeconfig(Some(&kubeconfig), None).await.expect("a kubeconfig");
    let client = Client::connect(&access).await.expect("a connection");
    install(control_plane, &client).await;
    let shutdown = Shutdown::new();
    let dex = testkit::oidc::Provider::start();
    let folders = assets::Folders::make();
    let web = Web { dex_server: dex.address(), ..folders.web() };
    let address = start(client.clone(), web, shutdown.clone()).await;
    let rest = Rest { address, token: String::new(), over };
    // What is about HTTP and not about methods is told once.
    let slow = match over {
        Over::Rest => Some(hostile::SlowClients::begin(&rest).await),
        Over::Grpc => None,
    };

    sessions::only_the_open_methods_answer_strangers(&rest).await;
    let (token, password) =
        sessions::the_admin_logs_in_with_the_first_password(&rest, &client).await;
    let rest = rest.by(token.clone());
    let mut failed = Vec::new();
    // One that fails is told at the end: the others have their say first.
    macro_rules! step {
        ($call:expr) => {
            if AssertUnwindSafe($call).catch_unwind().await.is_err() {
                failed.push(stringify!($call));
            }
        };
    }
    step!(projects::projects_are_created_changed_and_deleted(&rest));
    step!(trust::host_keys_and_certificates_are_added_listed_and_removed(&rest));
    step!(trust::keys_of_signers_are_added_listed_and_removed(&rest));
    step!(sessions::passwords_are_changed(&rest, &client, &password));
    step!(projects::what_else_is_known_of_projects(&rest));
    step!(rights::who_may_do_nothing_is_refused_everywhere(&rest, &client));
    step!(hostile::forged_tokens_are_refused(&rest));
    if over == Over::Rest {
        step!(hostile::bad_requests_are_refused_and_hurt_nobody(&rest));
        step!(hostile::idle_connections_hurt_nobody(&rest));
        step!(hostile::large_payloads_are_refused(&rest, &client));
        step!(hostile::pages_of_others_cannot_act(&rest));
        step!(assets::files_are_for_everybody_and_methods_stay_methods(&rest));
    }
    step!(repositories::charts_of_a_repository_are_listed(&rest));
    step!(sso::users_of_an_identity_provider_log_in(&rest, &client));
    step!(sso::dex_is_reached_through_us(&rest, &client, &dex));
    step!(projects::roles_of_projects_have_tokens(&rest));
    step!(clusters::clusters_are_secrets(&rest, &client, &access));
    step!(repositories::repositories_are_secrets(&rest, &client));
    step!(repositories::what_a_repository_holds_is_told(&rest));
    step!(repositories::repositories_to_write_to_are_others(&rest));
    step!(repositories::names_of_notifications_are_listed(&rest));
    step!(applications::applications_are_validated_created_and_changed(&rest));
    step!(application_sets::application_sets_are_stored(&rest));
    step!(applications::specifications_are_replaced(&rest));
    step!(applications::an_operation_is_written_for_the_controller(&rest));
    step!(applications::operations_end_and_are_taken_back(&rest, &client));
    step!(objects::live_objects_are_read_patched_acted_on_and_deleted(&rest, &client));
    step!(applications::a_namespace_must_be_permitted(&rest));
    step!(applications::a_watch_begins_with_what_is_there(&rest));
    step!(applications::lists_come_by_page_and_by_field(&rest));
    step!(applications::links_and_badges_are_made(&rest, &client));
    // It also makes the pod whose logs are read.
    step!(terminal::terminals_are_for_those_who_may(&rest, &client));
    if over == Over::Rest {
        step!(extensions::requests_are_passed_on(&rest, &client));
        step!(extension_sockets::web_sockets_go_through(&rest, &client));
    }
    step!(objects::a_deployment_is_restarted(&rest, &client));
    step!(rights::some_rights_are_not_all(&rest, &client));
    step!(partial_rights::each_right_opens_its_methods(&rest, &client, &access));
    step!(grpc::grpc_says_the_same(&rest, token));
    step!(grpc::files_come_over_rest_too(&rest));
    step!(hostile::torn_messages_are_refused(&rest));
    step!(applications::a_deletion_cascades_unless_told_otherwise(&rest, &client));
    step!(grpc::older_names_mean_the_same(&rest));
    step!(operations::each_was_answered(&rest));
    if let Some(slow) = slow {
        step!(slow.are_gone());
    }
    shutdown.begin();
    assert!(failed.is_empty(), "{failed:#?}");
}
