//! What notifications are made of: `notification.NotificationService`.

use super::messages;

messages! {
    /// The triggers, please.
    TriggersListRequest {
    }
    /// Triggers.
    TriggerList {
        #[prost(message, repeated, tag = 1)]
        items: Vec<Trigger>,
    }
    /// A trigger of notifications.
    Trigger {
        @always {
            #[prost(string, required, tag = 1)]
            name: String,
        }
    }
    /// The services, please.
    ServicesListRequest {
    }
    /// Services.
    ServiceList {
        #[prost(message, repeated, tag = 1)]
        items: Vec<Service>,
    }
    /// A service notifications go to.
    Service {
        @always {
            #[prost(string, required, tag = 1)]
            name: String,
        }
    }
    /// The templates, please.
    TemplatesListRequest {
    }
    /// Templates.
    TemplateList {
        #[prost(message, repeated, tag = 1)]
        items: Vec<Template>,
    }
    /// A template of notifications.
    Template {
        @always {
            #[prost(string, required, tag = 1)]
            name: String,
        }
    }
}
