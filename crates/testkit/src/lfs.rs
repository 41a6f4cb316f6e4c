//! A small LFS server: the batch API and the contents, out of the folder where
//! `git lfs` keeps them. It gives out and takes nothing in.

use std::path::Path;

use serde_json::{Value, json};

use crate::git_server::Request;

const JSON: &str = "application/vnd.git-lfs+json";

/// The answer to a request below `info/lfs`, whose downloads are at `base`.
pub(crate) fn answer(repository: &Path, base: &str, request: &Request) -> Vec<u8> {
    let path = request.target.rsplit_once("/info/lfs").map_or("", |(_, path)| path);
    match (request.method.as_str(), path.strip_prefix("/objects/")) {
        ("POST", Some("batch")) => {
            let asked: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            let objects = asked["objects"].as_array().into_iter().flatten();
            let objects: Vec<Value> = objects.map(|it| offer(repository, base, it)).collect();
            let said = json!({"transfer": "basic", "objects": objects, "hash_algo": "sha256"});
            http("200 OK", JSON, said.to_string().as_bytes())
        }
        ("GET", Some(id)) => match read(repository, id) {
            Some(content) => http("200 OK", "application/octet-stream", &content),
            None => http("404 Not Found", JSON, b"{\"message\":\"no such object\"}"),
        },
        _ => http("404 Not Found", JSON, b"{\"message\":\"no such thing\"}"),
    }
}

fn offer(repository: &Path, base: &str, asked: &Value) -> Value {
    let (id, size) = (asked["oid"].as_str().unwrap_or_default(), &asked["size"]);
    match read(repository, id) {
        Some(_) => {
            let href = format!("{base}/info/lfs/objects/{id}");
            json!({"oid": id, "size": size, "actions": {"download": {"href": href}}})
        }
        None => {
            let error = json!({"code": 404, "message": "Object does not exist"});
            json!({"oid": id, "size": size, "error": error})
        }
    }
}

fn read(repository: &Path, id: &str) -> Option<Vec<u8>> {
    let folder = repository.join("lfs/objects").join(id.get(..2)?).join(id.get(2..4)?);
    std::fs::read(folder.join(id)).ok()
}

fn http(status: &str, kind: &str, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    [head.as_bytes(), content].concat()
}
