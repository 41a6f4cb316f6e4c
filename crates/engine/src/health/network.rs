//! Service, Ingress, APIService: reachable once somebody has given them an address.

use object::Object;

use super::{Health, condition, text};

pub(super) fn service(object: &Object) -> Health {
    if object.text(&["spec", "type"]) == Some("LoadBalancer") {
        ingress(object)
    } else {
        Health::healthy()
    }
}

pub(super) fn ingress(object: &Object) -> Health {
    if object.list(&["status", "loadBalancer", "ingress"]).is_empty() {
        Health::progressing("")
    } else {
        Health::healthy()
    }
}

pub(super) fn api_service(object: &Object) -> Health {
    let Some(available) = condition(object, "Available") else {
        return Health::progressing("Waiting to be processed");
    };
    let message = format!("{}: {}", text(available, "reason"), text(available, "message"));
    if available["status"] == "True" {
        Health { message, ..Health::healthy() }
    } else {
        Health::progressing(message)
    }
}
