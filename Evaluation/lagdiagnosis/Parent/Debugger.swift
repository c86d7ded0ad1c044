internal import Foundation
internal import LagMonitor

/// Tools that show the stack of an unprepared process. They stop the process for that time.
enum Debugger: String, Sendable, CaseIterable {
    case euStack = "eu-stack"
    case gdb

    /// Its output for the main thread now; nil if it cannot be run.
    func stack(of pid: Int32) -> DebuggerStack? {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [rawValue] + arguments(pid)
        let output = Foundation.Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        let begin = MonotonicTime.now
        guard (try? process.run()) != nil else { return nil }
        let text = String(decoding: (try? output.fileHandleForReading.readToEnd()) ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        let milliseconds = Double((MonotonicTime.now - begin).wholeNanoseconds) / 1e6
        let frames = text.split(separator: "\n").filter { $0.hasPrefix("#") }.map(String.init)
        return frames.isEmpty ? nil : DebuggerStack(tool: self, milliseconds: milliseconds, frames: frames)
    }

    private func arguments(_ pid: Int32) -> [String] {
        switch self {
        case .euStack: ["-1", "-i", "-m", "-p", "\(pid)"]
        case .gdb: ["-nx", "-batch", "-iex", "set debuginfod enabled off", "-p", "\(pid)", "-ex", "bt 100"]
        }
    }
}

/// A debugger's output, one line per frame.
struct DebuggerStack: Sendable {
    let tool: Debugger
    let milliseconds: Double
    let frames: [String]

    /// Whether the nearest own function of the program is one of these. As a person would, reads from the line whether a function
    /// is an own one: by its Swift module, its C++ namespace, its source files, or as a C function of the executable that does
    /// not belong to a known library.
    func names(_ culprits: [String]) -> Bool {
        guard let frame = frames.first(where: isOwn) else { return false }
        return culprits.contains { culprit in Self.words(of: culprit).allSatisfy(frame.contains) }
    }

    private func isOwn(_ frame: String) -> Bool {
        if frame.contains("$s13librarystalls") || frame.contains("Sources/CLibraryStalls/") { return true }
        guard tool == .euStack, frame.hasSuffix("/librarystalls") else { return false }
        return !["$s", "CCryptoBoringSSL", " yaml_", " std::", " _start"].contains(where: frame.contains)
    }

    /// For example `area` and `Hexagon` of `librarystalls.Hexagon.area`.
    private static func words(of culprit: String) -> [String] {
        let known: Set = ["librarystalls", "closure", "in", "init", "deinit", "__deallocating_deinit", "getter", "shop", "const"]
        return culprit.prefix { $0 != "(" }.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init).filter {
            !known.contains($0)
        }
    }
}
