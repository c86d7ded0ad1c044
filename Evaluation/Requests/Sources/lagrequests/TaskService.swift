internal import Dispatch
internal import LagMonitor
internal import LagMonitorConcurrency

/// Requests that are tasks of this program: on actors, on the main actor, with child tasks.
enum TaskService {
    static func run(_ requests: Service.Requests, _ monitor: StallMonitor, _ mode: Mode) throws {
        switch mode {
        case .mainActor:
            var rules = StallRules.empty
            rules.ping = .init()
            try monitor.watch(PingedQueue(.main), rules: rules)
            // Every second request runs on the main actor from its beginning, and is open there while it waits.
            runClients(requests) { number in
                if number & 1 == 0 {
                    await serve(number, requests) { await Screen.show($0, requests) }
                } else {
                    await Screen.serve(number, requests)
                }
            }
        case .actors:
            try monitor.watchConcurrencyPool([.high, .medium])
            runClients(requests) { [bank = Bank()] in await serve($0, requests) { await bank.book($0, requests) } }
        default:
            try monitor.watchConcurrencyPool([.high, .medium])
            runClients(requests) { number in
                await serve(number, requests) { number in
                    async let child: Void = compute(number, requests)
                    await child
                }
            }
        }
    }

    /// Waits for tasks, on a thread that runs no tasks.
    static func runClients(_ requests: Service.Requests, _ serve: @escaping @Sendable (Int) async -> Void) {
        let group = DispatchGroup()
        for _ in 0..<Service.clients {
            group.enter()
            Task.detached(priority: .medium) {
                while !requests.isDone { await serve(requests.take()) }
                group.leave()
            }
        }
        group.wait()
    }

    /// Runs on the caller's actor, if it has one.
    nonisolated(nonsending) static func serve(
        _ number: Int,
        _ requests: Service.Requests,
        _ body: nonisolated(nonsending) (Int) async -> Void
    ) async {
        await withStallContext(name: "GET /orders/:id", ["id": "\(number)"]) {
            try? await Task.sleep(for: .microseconds(500 + number % 7 * 300))
            await body(number)
            try? await Task.sleep(for: .microseconds(200))
        }
    }

    private static func compute(_ number: Int, _ requests: Service.Requests) async {
        try? await Task.sleep(for: .microseconds(100))
        requests.work(number)
    }

    private actor Bank {
        private var booked = 0

        func book(_ number: Int, _ requests: Service.Requests) {
            booked += 1
            requests.work(number)
        }
    }

    @MainActor private enum Screen {
        static func show(_ number: Int, _ requests: Service.Requests) { requests.work(number) }

        static func serve(_ number: Int, _ requests: Service.Requests) async {
            await TaskService.serve(number, requests) { show($0, requests) }
        }
    }
}
