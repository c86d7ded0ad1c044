import Answers
import Dispatch
import Foundation
import LagMonitor

// The same program under `dispatchMain()`, configured by the environment: LAGMONITOR_OUTPUT_PATH=- LAGMONITOR_MONITOR_RULES=ping
let monitor = StallMonitor.startFromEnvironment(watching: [PingedQueue(.main)])

Task { @MainActor in
    for await line in Input.lines() { Answers.answer(line) }
    monitor?.stop()
    exit(0)
}
dispatchMain()
