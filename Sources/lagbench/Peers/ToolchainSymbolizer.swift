internal import Foundation
internal import Runtime

/// The toolchain's own symboliser (`import Runtime`), on a stack of thirty frames: milliseconds, the median after the
/// first time, with its symbol cache.
enum ToolchainSymbolizer {
    private static let rounds = 5

    /// In this program. Nil when it finds no stack.
    static func own(lines: Bool) -> Double? {
        var result: Double?
        DeepStack.descend {
            guard let stack = try? Backtrace.capture(limit: SymbolSubject.frames, top: 0) else { return }
            let images = ImageMap.capture()
            let place: Backtrace.SymbolicationOptions = [.showInlineFrames, .showSourceLocations]
            let options: Backtrace.SymbolicationOptions = lines ? place.union(.useSymbolCache) : .useSymbolCache
            let clock = ContinuousClock()
            let times = (0...rounds).map { _ in
                clock.measure { _ = stack.symbolicated(with: images, options: options) } / .milliseconds(1)
            }
            result = Samples(times.dropFirst()).median
        }
        return result
    }

    /// In the named program, which measures it on itself and prints `peer_ms X`. Nil when it does not.
    static func measured(by path: String) -> Double? {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        let output = Pipe()
        process.standardOutput = output
        guard (try? process.run()) != nil else { return nil }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text.split(separator: "\n").first { $0.hasPrefix("peer_ms ") }.flatMap { Double($0.dropFirst(8)) }
    }
}
