//! Kubernetes events, as the API tells them.

use super::messages;
use super::micro_time::MicroTime;

messages! {
    /// Events.
    EventList {
        @always {
            #[prost(message, required, tag = 1)]
            metadata: api::ListMeta,
            #[prost(message, repeated, tag = 2)]
            items: Vec<Event>,
        }
    }
    /// A Kubernetes event.
    Event {
        @always {
            #[prost(message, required, tag = 1)]
            metadata: api::ObjectMeta,
            #[prost(message, required, tag = 2)]
            involved_object: ObjectReference,
            #[prost(message, required, tag = 5)]
            source: EventSource,
            #[prost(message, required, tag = 6)]
            first_timestamp: api::Time,
            #[prost(message, required, tag = 7)]
            last_timestamp: api::Time,
            #[prost(message, required, tag = 10)]
            event_time: MicroTime,
        }
        #[prost(string, tag = 3)]
        reason: String,
        #[prost(string, tag = 4)]
        message: String,
        #[prost(int32, tag = 8)]
        count: i32,
        #[prost(string, tag = 9)]
        type_: String,
        #[prost(message, optional, tag = 11)]
        series: Option<EventSeries>,
        #[prost(string, tag = 12)]
        action: String,
        #[prost(message, optional, tag = 13)]
        related: Option<ObjectReference>,
        #[prost(string, tag = 14)]
        reporting_component: String,
        #[prost(string, tag = 15)]
        reporting_instance: String,
    }
    /// What it is about.
    ObjectReference {
        #[prost(string, tag = 1)]
        kind: String,
        #[prost(string, tag = 2)]
        namespace: String,
        #[prost(string, tag = 3)]
        name: String,
        #[prost(string, tag = 4)]
        uid: String,
        #[prost(string, tag = 5)]
        api_version: String,
        #[prost(string, tag = 6)]
        resource_version: String,
        #[prost(string, tag = 7)]
        field_path: String,
    }
    /// Who saw it.
    EventSource {
        #[prost(string, tag = 1)]
        component: String,
        #[prost(string, tag = 2)]
        host: String,
    }
    /// How often an event came again.
    EventSeries {
        @always {
            #[prost(message, required, tag = 2)]
            last_observed_time: MicroTime,
        }
        #[prost(int32, tag = 1)]
        count: i32,
    }
}
