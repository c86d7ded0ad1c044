internal import Foundation
internal import LagMonitor

/// The resident memory that `start()` and the first watched loop add to a process that already has its run loop.
///
/// Measured in fresh processes of this program, which contain only the loop; summed over all mappings, so that the pages
/// of libunwind's and libc's files are included.
struct ResidentSetStart: Benchmark {
    let name = "rss_start"
    let unit = "MB"
    let targets = [Target(.value, .atMost(4))]

    private static let processes = 5
    private static let settleMilliseconds = 200.0

    func run() throws -> [BenchLine] {
        let added = Samples(try (0..<Self.processes).map { _ in Double(try probeProcess()) / 1024 })
        return [BenchLine(name, added.median, unit).annotating("processes", added.count)]
    }

    /// The body of the fresh process: prints kilobytes.
    static func probe() {
        let loop = ObservedRunLoop.current
        _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false)
        let monitor = StallMonitor()
        // Reads twice, because the first reading itself allocates memory.
        _ = TaskFiles.residentKilobytes()
        guard let before = TaskFiles.residentKilobytes(), (try? monitor.start()) != nil, (try? monitor.watch(loop)) != nil
        else { exit(EXIT_FAILURE) }
        Pause.sleep(milliseconds: settleMilliseconds)
        guard let after = TaskFiles.residentKilobytes() else { exit(EXIT_FAILURE) }
        print(after > before ? after - before : 0)
        monitor.stop()
    }

    private func probeProcess() throws -> Int {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["--probe", Options.Probe.rss.rawValue]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0, let kilobytes = Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw BenchmarkFailure("the probe exited with status \(process.terminationStatus) and printed '\(text)'")
        }
        return kilobytes
    }
}
