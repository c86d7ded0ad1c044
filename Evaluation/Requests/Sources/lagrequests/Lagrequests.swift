internal import Foundation
internal import LagMonitor

/// `lagrequests MODE [STALLS]`: runs a service under load on the loopback interface, in which one request in 200 blocks its
/// thread. Checks whether each stall's record names the request that blocked. Prints a line for each run:
/// `requests MODE stalls= running_right= running_wrong= absent= open_listed=`. Exits with 1 if a target is missed.
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
        // The main thread runs only the main queue.
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
