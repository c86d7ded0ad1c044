import Dispatch
import Foundation
import TestSupport

switch CommandLine.arguments.dropFirst().first {
case "dispatch-main":
    try MainStalls.check(on: .worker)
    dispatchMain()
case "run-loop":
    try MainStalls.check(on: .main)
    RunLoop.main.run()
default:
    print("dispatch-main or run-loop is wanted")
    exit(1)
}
