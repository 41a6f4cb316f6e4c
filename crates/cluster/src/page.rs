//! Reads one page of a list, and leaves its items as they came.

use bytes::Bytes;
use serde_json::value::RawValue;

use crate::refusal::RequestError;

/// One page of a list, its items still as bytes.
pub(crate) struct Page {
    pub(crate) request: String,
    pub(crate) items: Vec<Bytes>,
    pub(crate) resource_version: String,
    pub(crate) next: Option<String>,
}

#[derive(serde::Deserialize)]
struct ListBody<'a> {
    #[serde(default)]
    metadata: ListMeta,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ListMeta {
    resource_version: String,
    #[serde(rename = "continue")]
    next: String,
}

impl Page {
    pub(crate) fn read(request: String, body: &Bytes) -> Result<Self, RequestError> {
        let list: ListBody<'_> = serde_json::from_slice(body).map_err(|source| {
            RequestError::Unreadable { request: request.clone(), source: source.into() }
        })?;
        let items = list.items.unwrap_or_default();
        Ok(Self {
            request,
            items: items.iter().map(|it| body.slice_ref(it.get().as_bytes())).collect(),
            resource_version: list.metadata.resource_version,
            next: Some(list.metadata.next).filter(|it| !it.is_empty()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_keeps_its_items_as_slices_and_knows_its_successor() {
        let body = Bytes::from_static(
            br#"{"kind":"PodList","metadata":{"resourceVersion":"7","continue":"t"},"items":[{"a":1},{"b":2}]}"#,
        );
        let page = Page::read("GET".into(), &body).expect("a list");
        assert_eq!(page.items, [&br#"{"a":1}"#[..], &br#"{"b":2}"#[..]]);
        assert_eq!((page.resource_version.as_str(), page.next.as_deref()), ("7", Some("t")));
        let empty = Bytes::from_static(br#"{"metadata":{"resourceVersion":"7"},"items":null}"#);
        let page = Page::read("GET".into(), &empty).expect("a list");
        assert_eq!((page.items.len(), page.next), (0, None));
    }
}
