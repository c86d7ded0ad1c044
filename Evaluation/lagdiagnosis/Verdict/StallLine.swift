internal import Foundation

/// The fields of a line of the monitor that are needed here.
struct StallLine: Sendable {
    struct Frame: Decodable, Sendable {
        let pc: String
        let module: String?
        let symbol: String?
        let inApp: Bool?
        /// Whether it is an asynchronous caller, which waits for the frame before it, and is not on the stack.
        let async: Bool?

        var text: String {
            let mark = inApp == true ? "*" : " "
            return "\(mark) \(symbol ?? pc)\(module.map { "  [\($0)]" } ?? "")"
        }
    }

    struct LockOwner: Decodable, Sendable { let threadName: String? }
    struct Request: Decodable, Sendable { let name: String? }

    struct Fields: Decodable, Sendable {
        let phase: String?
        let message: String?
        let monoUs: UInt64
        let threadId: Int32?
        let durationMs: Double?
        let durationMinMs: Double?
        let durationMaxMs: Double?
        let cause: String?
        let cpuMs: Double?
        let runDelayMs: Double?
        let blockedMs: Double?
        let culprit: String?
        let culpritConfidence: Double?
        let lockOwner: LockOwner?
        let request: Request?
        let capture: String?
        let captureError: String?
        let frames: [Frame]?
    }

    let text: String
    let fields: Fields

    init(_ text: String) throws {
        self.text = text
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        do {
            fields = try decoder.decode(Fields.self, from: Data(text.utf8))
        } catch {
            throw DiagnosisFailure("cannot read a line (\(error)): \(text)")
        }
    }

    var phase: String { fields.phase ?? "" }
    var frames: [Frame] { fields.frames ?? [] }

    /// The record's uncertainty of its duration, if the watchdog was delayed in the middle of a poll, because the process
    /// could not run, or by the kernel.
    var uncertaintyMs: Double {
        guard let least = fields.durationMinMs, let most = fields.durationMaxMs else { return 0 }
        return most - least
    }

    /// `cpu_ms` + `run_delay_ms` + `blocked_ms` as a part of `duration_ms`; nil when one of them is missing.
    var sharesSum: Double? {
        guard let cpu = fields.cpuMs, let delay = fields.runDelayMs, let blocked = fields.blockedMs,
            let duration = fields.durationMs, duration > 0
        else { return nil }
        return (cpu + delay + blocked) / duration
    }
}
