//! All tests against fake servers and of the parsers: one program, because each would be compiled with all of these and linked anew.

mod allocations;
mod bad_servers;
mod bodies;
mod closed_loop;
mod connections;
mod fake_servers;
mod fastcgi_servers;
mod iproto_bad_servers;
mod iproto_parser;
mod iproto_servers;
mod open_loop;
mod parsers;
mod splits;
mod threads;
