import Answers
import Dispatch
import Foundation
import LagMonitor

/// An asynchronous program: `main` suspends, the main actor runs now on one thread, now on another, and the process's main thread on none.
@main @MainActor enum MainActorApp {
    static func main() async throws {
        let monitor = StallMonitor(sinks: [try DescriptorSink(descriptor: STDOUT_FILENO, name: "stdout")])
        try monitor.start()
        // Nobody can observe the main queue there, so it is asked: an answer that does not come within three intervals is a stall.
        var rules = StallRules.empty
        rules.ping = .init(interval: .milliseconds(50), timeouts: 3)
        try monitor.watch(PingedQueue(.main), rules: rules)

        for await line in Input.lines() { Answers.answer(line) }
        monitor.stop()
    }
}
