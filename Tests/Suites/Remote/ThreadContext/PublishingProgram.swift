internal import CLagBeacon
internal import Foundation
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// Where the program's writer of OpenTelemetry contexts is.
enum WriterPlace: String, CaseIterable, Sendable {
    case program
    /// A linked library, with either access model for its thread-local variable.
    case linked, linkedByDescriptor
    /// A library that the program loads, with space for it in static storage and without.
    case loaded, loadedByDescriptor, late, lateByDescriptor
    /// A program started through the dynamic linker (`ld.so program`), and one that is linked to fixed addresses.
    case startedByLinker, fixedAddress

    fileprivate static let linker = "/lib64/ld-linux-x86-64.so.2"

    /// The options with which a program that contains the writer is compiled; nil if the writer is in a library.
    fileprivate var ownOptions: [String]? {
        switch self {
        case .startedByLinker: ["-fPIE", "-pie"]
        case .fixedAddress: ["-fno-pie", "-no-pie"]
        default: nil
        }
    }

    fileprivate var options: (library: [String], program: [String]) {
        let dialect = rawValue.hasSuffix("ByDescriptor") ? "gnu2" : "gnu"
        var library = ["-shared", "-fPIC", "-O1", "-mtls-dialect=\(dialect)"]
        if self == .late || self == .lateByDescriptor { library.append("-DWRITER_STORAGE_BYTES=100000") }
        let isLinked = self == .linked || self == .linkedByDescriptor
        return (library, isLinked ? ["-L.", "-lwriter", "-Wl,-rpath,$ORIGIN"] : ["-DWRITER_LIBRARY=\"./libwriter.so\"", "-ldl"])
    }
}

/// A program that publishes the contexts of its threads, which are read from here.
final class PublishingProgram {
    /// The first clang that supports the dialects of thread-local variables: older versions in Debian do not.
    static let compiler = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/clang" }
        .first { path in
            guard FileManager.default.isExecutableFile(atPath: path) else { return false }
            let process = Process()
            process.executableURL = URL(fileURLWithPath: path)
            process.arguments = ["-mtls-dialect=gnu2", "-fsyntax-only", "-x", "c", "-"]
            process.standardInput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            guard (try? process.run()) != nil else { return false }
            process.waitUntilExit()
            return process.terminationStatus == 0
        }
    private static let sources = Repository.root.appendingPathComponent("Tests/Probes/ForeignProbe").path
    private static let built = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()

    private let process = Process()
    private let folder = NSTemporaryDirectory() + "thread-context-\(UUID().uuidString)"
    private let capture: ThreadCapture
    private let frames = FrameBuffer(capacity: 64, withStackPointers: true)
    /// The thread that has a context.
    let tid: Int32

    /// - Parameter place: where the writer is; nil for a program in Swift that uses ``OpenTelemetryContexts``.
    init(_ place: WriterPlace?, _ arguments: [String]) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        switch place {
        case nil:
            process.executableURL = Self.built.appendingPathComponent("MonitorProbe")
            process.arguments = ["published"] + arguments
        case .program:
            process.executableURL = Self.built.appendingPathComponent("ForeignProbe")
            process.arguments = ["context"] + arguments
        case let place?:
            let writer = "\(Self.sources)/otel_writer.c"
            let main = ["-O1", "-DTHREAD_CONTEXT_MAIN", "-I", Self.sources, "\(Self.sources)/thread_context.c", "-o", "program"]
            if let own = place.ownOptions {
                try Self.compile(main + own + [writer, "-rdynamic"], in: folder)
            } else {
                let (library, program) = place.options
                try Self.compile(library + [writer, "-o", "libwriter.so"], in: folder)
                try Self.compile(main + program, in: folder)
            }
            let path = folder + "/program"
            let isByLinker = place == .startedByLinker
            process.executableURL = URL(fileURLWithPath: isByLinker ? WriterPlace.linker : path)
            process.arguments = (isByLinker ? [path] : []) + arguments
        }
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let pid = process.processIdentifier
        let languages = LanguageFrames(process: pid) { Issue.record("\($0)") }
        capture = try ThreadCapture(process: pid, running: TraceCapture.self, languages: languages)
        tid = try #require(LineReader(output).next().flatMap { Int32($0) })
    }

    deinit {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: folder)
    }

    private static func compile(_ arguments: [String], in folder: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(compiler))
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(arguments)")
    }

    /// How the thread was captured, and its context.
    func take(_ tid: Int32? = nil) -> (outcome: CaptureOutcome, context: clb_context_copy?) {
        let identity = ThreadIdentity(tid: tid ?? self.tid, process: process.processIdentifier, stackLow: 0, stackHigh: 0)
        capture.refreshModules()
        let outcome = capture.capture(identity, earlier: nil, into: frames)
        return (outcome, capture.context?.pointee)
    }

    /// The thread's context, once the thread is in a state in which it can be read.
    func context() -> clb_context_copy? {
        var context: clb_context_copy?
        _ = eventually {
            context = take().context
            return context != nil
        }
        return context
    }
}

extension clb_context_copy {
    /// The context's name, followed by alternating attribute names and values.
    var texts: [String] {
        withUnsafeBytes(of: context.text) { text in
            var rest = text[..<Int(context.lengths >> 8 & 0xff)]
            var found = [String(decoding: rest.prefix(Int(context.lengths & 0xff)), as: UTF8.self)]
            rest = rest.dropFirst(Int(context.lengths & 0xff))
            while let count = rest.first.map(Int.init) {
                found.append(String(decoding: rest.dropFirst().prefix(count), as: UTF8.self))
                rest = rest.dropFirst(count + 1)
            }
            return found
        }
    }
}
