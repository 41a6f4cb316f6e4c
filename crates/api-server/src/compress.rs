//! gzip for answers that are worth it.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY,
};
use http::{HeaderMap, HeaderValue, Response};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Full};
use wire::HttpBody;

/// Smaller answers fit in one packet anyway.
pub(crate) const WORTH_IT: u64 = 1_400;
/// Larger ones would hold up the other requests of a worker.
const OFF_THE_WORKERS: u64 = 64 << 10;

/// Does the client take gzip?
pub(crate) fn is_accepted(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|it| it.to_str().ok());
    let mut offers = lines.flat_map(|it| it.split(','));
    offers.any(|offer| {
        let mut parts = offer.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|it| it.eq_ignore_ascii_case("gzip") || it == "*");
        is_gzip && !parts.any(|it| matches!(it, "q=0" | "q=0.0"))
    })
}

/// The same answer, smaller. What comes in pieces is left alone.
pub(crate) async fn compressed(response: Response<HttpBody>) -> Response<HttpBody> {
    let Some(size) = response.body().size_hint().exact().filter(|it| *it >= WORTH_IT) else {
        return response;
    };
    if response.headers().contains_key(CONTENT_ENCODING)
        || response.headers().get(CACHE_CONTROL).is_some_and(|it| it == "no-cache")
        || is_packed(response.headers())
    {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let plain = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let gzip = if size >= OFF_THE_WORKERS {
        let kept = plain.clone();
        tokio::task::spawn_blocking(move || gzip(&kept)).await.ok().flatten()
    } else {
        gzip(&plain)
    };
    let Some(gzip) = gzip else {
        return Response::from_parts(parts, HttpBody::new(Full::new(plain)));
    };
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    parts.headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
    Response::from_parts(parts, HttpBody::new(Full::new(Bytes::from(gzip))))
}

/// Formats that are as small as they get.
fn is_packed(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    kind.starts_with("font/") || kind.starts_with("image/") && kind != "image/svg+xml"
}

pub(crate) fn gzip(plain: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(plain.len() / 4), Compression::fast());
    encoder.write_all(plain).ok()?;
    encoder.finish().ok()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn clients_say_what_they_take() {
        let accepts = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(text));
            is_accepted(&headers)
        };
        assert!(accepts("gzip") && accepts("br, GZIP;q=0.5") && accepts("*"));
        assert!(!accepts("br") && !accepts("gzip;q=0") && !is_accepted(&HeaderMap::new()));
    }

    #[tokio::test]
    async fn a_large_answer_is_compressed_and_a_small_one_is_not() {
        for (size, is_compressed) in [(10, false), (5_000, true), (200_000, true)] {
            let text = "a".repeat(size);
            let body = HttpBody::new(Full::new(Bytes::from(text.clone())));
            let response = compressed(Response::new(body)).await;
            assert_eq!(response.headers().contains_key(CONTENT_ENCODING), is_compressed);
            let bytes = response.into_body().collect().await.expect("a body").to_bytes();
            let mut read = String::new();
            if is_compressed {
                let mut decoder = flate2::read::GzDecoder::new(&bytes[..]);
                decoder.read_to_string(&mut read).expect("gzip");
            } else {
                read = String::from_utf8(bytes.to_vec()).expect("text");
            }
            assert_eq!(read, text);
        }
    }
}
