internal import Foundation
internal import LagMonitor

/// `lagrequests MODE [STALLS]`: a service under load on the loopback interface, of which one request in 200 blocks its thread, and whether each stall's record
/// names the request that did. Prints a line a run: `requests MODE stalls= running_right= running_wrong= absent= open_listed=`. Ends with 1 where a target is missed.
@main
enum Lagrequests {
    /// The default number of stalls of a run.
    private static let stallsByDefault = 60

    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        let stalls = words.dropFirst().first.flatMap { Int($0) } ?? stallsByDefault
        let mode = words.first.flatMap(Mode.init(rawValue:))
        guard words.isEmpty || words.first == "all" || mode != nil else {
            print("usage: lagrequests [all | \(Mode.allCases.map(\.rawValue).joined(separator: " | "))] [STALLS]")
            exit(EX_USAGE)
        }
        // Nothing here runs on the main thread but the main queue.
        let chosen = mode.map { [$0] } ?? Mode.allCases
        Thread.detachNewThread {
            var isGood = true
            for mode in chosen {
                do {
                    let score = try Service.run(mode, stalls: stalls)
                    print(score.line(mode.rawValue))
                    fflush(nil)
                    isGood = isGood && score.isGood
                } catch {
                    print("lagrequests: \(mode.rawValue) could not be run: \(error)")
                    isGood = false
                }
            }
            exit(isGood ? EXIT_SUCCESS : EXIT_FAILURE)
        }
        RunLoop.main.run()
        while true { RunLoop.main.run(until: .distantFuture) }
    }
}
