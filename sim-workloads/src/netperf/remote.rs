//! netserver here, netperf on another machine.

use super::programs::{self, CONTROL, Plan};
use super::{Netperf, TCP_SEND_DEFAULT};
use crate::build::Builder;
use sim_core::program::{Action, Program, RemoteSpec, RemoteTest};
use sim_core::{Instant, Nanos, SocketId};

/// What a call takes netperf on the other machine.
const CALL: Nanos = Nanos(1500);

/// Adds the other machine's netperf; starts netserver and waits for it.
pub(super) fn shell(spec: &Netperf, builder: &mut Builder) -> Box<dyn Program> {
    let setup = spec.setup.sample(&mut builder.stream(&format!("{}/client", spec.name), "run"));
    let (sndbuf, rcvbuf) = (spec.buffers(spec.local_buffer).0, spec.buffers(spec.remote_buffer).1);
    let (count, length) = spec.bounds();
    let client = RemoteSpec {
        start: Instant::ZERO.saturating_add(spec.head_start).saturating_add(setup),
        greeting: CONTROL,
        test: match spec.test.is_stream() {
            true => RemoteTest::Stream { message: spec.message().max(1) },
            false => {
                RemoteTest::Transactions { request: spec.request_size.0, response: spec.response_size.0 }
            }
        },
        sndbuf: spec.test.is_tcp().then_some(sndbuf),
        nodelay: spec.nodelay,
        window: TCP_SEND_DEFAULT,
        call: spec.remote_call.map_or(CALL, |d| d.0),
        count,
        length,
        sockets: [SocketId::new(0); 2],
    };
    let [control, data] = builder.objects.add_remote(&spec.name, rcvbuf, client);
    let plan = Plan { spec: spec.clone(), seed: builder.seed, control: [control; 2], data: [data; 2] };
    programs::play([programs::start_netserver(&plan), Action::WaitChildren])
}
