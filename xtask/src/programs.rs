//! Real servers that tests talk to, installed where the machine lets us.

use std::path::Path;
use std::process::Command;

/// Programs and the Debian packages that bring them.
const WANTED: [(&str, &str); 3] = [
    ("/usr/bin/redis-server", "redis-server"),
    ("/usr/sbin/sshd", "openssh-server"),
    ("/usr/bin/faketime", "faketime"),
];

/// Installs what is missing. Tests that miss a program say so and pass, so a
/// machine that cannot have one is told about loudly and no reason to stop.
pub(crate) fn install() {
    for (program, package) in WANTED {
        if Path::new(program).exists() {
            continue;
        }
        let install = || apt_get(&["install", "-y", "--no-install-recommends", package]);
        let is_here = install() || apt_get(&["update"]) && install();
        if !is_here {
            println!("NOTICE: could not install {package}: tests that need {program} do nothing");
        }
    }
    if let Err(error) = devcluster::go_tool(devcluster::DEX, &crate::dev::show) {
        println!("NOTICE: could not install Dex: no login through it is tried: {error}");
    }
    if let Err(error) = devcluster::npm_tool(devcluster::OIDC_PROVIDER, &crate::dev::show) {
        println!("NOTICE: could not install oidc-provider: no login with it is tried: {error}");
    }
}

fn apt_get(arguments: &[&str]) -> bool {
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    // A server of the distribution's own is none of our business.
    command.env("RUNLEVEL", "1");
    command.status().is_ok_and(|it| it.success())
}
