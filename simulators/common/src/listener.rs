//! The listener: a thread for each connection.

use std::io;
use std::net::{TcpListener, TcpStream};

use crate::limits::STACK;

/// Serves every connection on a thread of its own, forever; `session` returns what the thread does.
pub fn serve<S>(listener: &TcpListener, session: impl Fn(TcpStream) -> S)
where
    S: FnOnce() -> io::Result<()> + Send + 'static,
{
    for stream in listener.incoming() {
        match stream {
            Ok(stream) => {
                let name = format!("session of {:?}", stream.peer_addr().ok());
                start(name, session(stream));
            }
            Err(error) => eprintln!("accept: {error}"),
        }
    }
}

fn start(name: String, session: impl FnOnce() -> io::Result<()> + Send + 'static) {
    let thread = std::thread::Builder::new().name(name.clone()).stack_size(STACK);
    let spawned = thread.spawn(move || match session() {
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => eprintln!("{name}: {error}"),
        _ => {}
    });
    if let Err(error) = spawned {
        eprintln!("no thread for a session: {error}");
    }
}
