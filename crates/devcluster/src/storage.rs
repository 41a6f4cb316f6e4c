//! Where a cluster keeps its files, and whether there is room.

use std::io;
use std::path::{Path, PathBuf};

/// What a cluster of a test needs at most: etcd's data and some logs.
const CLUSTER_BYTES: u64 = 512 << 20;

/// Memory where the system offers it: etcd's writes then cost nothing.
pub(crate) fn cluster_parent() -> PathBuf {
    let memory = Path::new("/dev/shm");
    match free_bytes(memory) {
        Ok(free) if free >= CLUSTER_BYTES && is_writable(memory) => memory.to_owned(),
        Ok(_) | Err(_) => std::env::temp_dir(),
    }
}

pub(crate) fn free_bytes(folder: &Path) -> io::Result<u64> {
    let filesystem = rustix::fs::statvfs(folder)?;
    Ok(filesystem.f_bavail.saturating_mul(filesystem.f_frsize))
}

fn is_writable(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}
