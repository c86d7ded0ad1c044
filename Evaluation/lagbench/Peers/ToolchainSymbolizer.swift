internal import Foundation
internal import Runtime

/// The toolchain's own symboliser (`import Runtime`), on a stack of thirty frames, in milliseconds.
enum ToolchainSymbolizer {
    private static let rounds = 5

    /// Looks up only names in this program, only the first time, because the symboliser caches them. Nil if it finds no stack.
    static func names() -> Double? { times(1, [.useSymbolCache])?.first }

    /// Looks up lines and inlined functions in this program; the median after the first time, because they are not cached.
    static func lines() -> Double? {
        times(rounds + 1, [.showInlineFrames, .showSourceLocations, .useSymbolCache]).map { Samples($0.dropFirst()).median }
    }

    private static func times(_ rounds: Int, _ options: Backtrace.SymbolicationOptions) -> [Double]? {
        var times: [Double]?
        DeepStack.descend {
            guard let stack = try? Backtrace.capture(limit: SymbolSubject.frames, top: 0) else { return }
            let images = ImageMap.capture()
            let clock = ContinuousClock()
            times = (0..<rounds).map { _ in
                clock.measure { _ = stack.symbolicated(with: images, options: options) } / .milliseconds(1)
            }
        }
        return times
    }

    /// The time in the named program, which measures itself and prints `peer_ms X`. Nil if it does not.
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
