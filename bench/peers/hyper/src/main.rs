//! hyper on tokio: each worker has a thread, a runtime and a listening socket of its own.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use hyper::body::{to_bytes, Bytes};
use hyper::header::{HeaderValue, CONTENT_LENGTH, CONTENT_TYPE};
use hyper::server::conn::Http;
use hyper::service::service_fn;
use hyper::{Body, Method, Request, Response, StatusCode};
use socket2::{Domain, Socket, Type};

mod spin;

const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const BYTES: HeaderValue = HeaderValue::from_static("application/octet-stream");

static X: [u8; 1 << 20] = [b'x'; 1 << 20];

fn fixed(content_type: HeaderValue, body: &'static [u8]) -> Response<Body> {
    with_type(content_type, Bytes::from_static(body))
}

fn with_type(content_type: HeaderValue, body: Bytes) -> Response<Body> {
    let length = HeaderValue::from(body.len());
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, content_type);
    headers.insert(CONTENT_LENGTH, length);
    response
}

fn status(code: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = code;
    response
}

fn answer_spin(path: &str) -> Response<Body> {
    match spin::parse(path) {
        Some(us) => {
            spin::spin(us);
            fixed(PLAIN, b"spun")
        }
        None => status(StatusCode::NOT_FOUND),
    }
}

async fn echo(request: Request<Body>) -> Response<Body> {
    let content_type = request.headers().get(CONTENT_TYPE).cloned().unwrap_or(BYTES);
    match to_bytes(request.into_body()).await {
        Ok(body) => with_type(content_type, body),
        Err(_) => status(StatusCode::BAD_REQUEST),
    }
}

async fn answer(request: Request<Body>) -> Result<Response<Body>, Infallible> {
    Ok(match (request.method(), request.uri().path()) {
        (&Method::GET, "/plaintext") => fixed(PLAIN, b"Hello, World!"),
        (&Method::GET, "/json") => fixed(JSON, br#"{"message":"Hello, World!"}"#),
        (&Method::GET, "/16k") => fixed(PLAIN, &X[..16 * 1024]),
        (&Method::GET, "/1m") => fixed(PLAIN, &X),
        (&Method::POST, "/echo") => echo(request).await,
        (&Method::GET, path) if path.starts_with(spin::PATH) => answer_spin(path),
        _ => status(StatusCode::NOT_FOUND),
    })
}

fn listen_on(port: u16) -> std::io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(4096)?;
    Ok(socket.into())
}

async fn serve(listener: TcpListener) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listening socket");
    let mut http = Http::new();
    http.http1_only(true).http1_keep_alive(true).pipeline_flush(true);
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => continue,
        };
        let _ = stream.set_nodelay(true);
        let connection = http.serve_connection(stream, service_fn(answer));
        tokio::task::spawn_local(async move {
            let _ = connection.await;
        });
    }
}

fn work(listener: TcpListener) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    tokio::task::LocalSet::new().block_on(&runtime.expect("a runtime"), serve(listener));
}

/// The version of hyper that this was built with, as cargo chose it.
fn version() -> &'static str {
    let after = include_str!("../Cargo.lock").split("name = \"hyper\"\nversion = \"").nth(1);
    after.and_then(|rest| rest.split('"').next()).unwrap_or("unknown")
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["--version"] {
        println!("hyper {}", version());
        return;
    }
    let numbers: Vec<u16> = arguments.iter().filter_map(|text| text.parse().ok()).collect();
    let (port, workers) = match numbers[..] {
        [port, workers] if workers > 0 => (port, workers),
        _ => panic!("usage: hyper-peer PORT WORKERS | --version"),
    };
    let listeners: Vec<TcpListener> =
        (0..workers).map(|_| listen_on(port).expect("the port is free")).collect();
    let threads: Vec<_> =
        listeners.into_iter().map(|one| std::thread::spawn(move || work(one))).collect();
    for thread in threads {
        thread.join().expect("a worker does not end");
    }
}
