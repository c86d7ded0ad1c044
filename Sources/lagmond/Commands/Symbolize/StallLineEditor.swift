internal import LagDiagnosis
internal import LagModel
internal import LagOutput

/// Adds names and source positions to a stall line's frames. Every existing byte stays, in its order.
struct StallLineEditor {
    /// The members that precede the source position in a frame.
    private static let leadingMembers = members(before: "file")
    /// The members that an inlined frame shares with the frame that contains it.
    private static let sharedMembers = members(before: "symbol")

    private static func members(before end: String) -> Set<String> {
        Set(FrameMember.all.lazy.map { "\($0.name)" }.prefix { $0 != end })
    }

    private let rules: InAppRules
    private var writer = JSONLineWriter()

    /// - Parameter rules: which code is the program's own; the record's `in_app` of a frame takes precedence.
    init(rules: InAppRules = InAppRules()) { self.rules = rules }

    /// The line with the names and positions in `levels`, one entry per frame of the line.
    mutating func edited(_ line: StallLine, levels: [[ResolvedFrame]]) -> [UInt8] {
        var bytes: [UInt8] = []
        var position = 0
        let source = line.text.bytes
        for (frame, levels) in zip(line.frames, levels) {
            guard !frame.hasPlace, let function = levels.last else { continue }
            bytes += source[position..<frame.value.range.lowerBound]
            for level in levels.dropLast() { bytes += inlined(level, in: frame, function, of: line.text) + [UInt8(ascii: ",")] }
            position = frame.value.range.lowerBound
            let addition = addition(function, to: frame)
            if !addition.isEmpty, let place = Self.place(in: frame.value) {
                bytes += source[position..<place] + [UInt8(ascii: ",")] + addition
                position = place
            }
        }
        return bytes + source[position...]
    }

    /// Where to insert the name and position in a frame: after the last of the members that precede them.
    private static func place(in frame: JSONText.Value) -> Int? {
        guard case .object(let members) = frame.content else { return nil }
        return members.last { leadingMembers.contains($0.name) }?.value.range.upperBound
    }

    /// Members for the function itself, without those that the frame already has.
    private mutating func addition(_ level: ResolvedFrame, to frame: StallLine.Frame) -> ArraySlice<UInt8> {
        writer.reset()
        writer.beginObject()
        if !frame.members.contains("symbol") {
            let isInApp = frame.isInApp ?? rules.isInApp(modulePath: frame.module, symbol: level.simplified, isRust: level.isRust)
            symbol(level, isInApp: isInApp, without: frame.members)
            if let offset = level.symbolOffset, !frame.members.contains("symbol_offset") {
                writer.field("symbol_offset", offset)
            }
        }
        if level.file != nil { place(level, without: frame.members) }
        writer.endObject()
        return writer.withBytes { ArraySlice($0).dropFirst().dropLast() }
    }

    /// A complete frame for a function that is inlined in `frame`.
    private mutating func inlined(
        _ level: ResolvedFrame,
        in frame: StallLine.Frame,
        _ function: ResolvedFrame,
        of text: JSONText
    ) -> [UInt8] {
        guard case .object(let members) = frame.value.content else { return [] }
        let shared = members.filter { Self.sharedMembers.contains($0.name) }
            .map { "\"\($0.name)\":\(text.written($0.value))" }.joined(separator: ",")
        let isInApp = isInApp(level, in: frame, function)
        writer.reset()
        writer.beginObject()
        symbol(level, isInApp: isInApp)
        place(level)
        if frame.isInApp != nil { writer.field("in_app", isInApp) }
        writer.endObject()
        return Array("{\(shared),".utf8) + writer.withBytes { $0.dropFirst() }
    }

    /// Whether a function that is inlined in `frame` is the program's own. If the record contradicts these rules, it was
    /// written with other rules; then the inlined function is classified like the frame.
    private func isInApp(_ level: ResolvedFrame, in frame: StallLine.Frame, _ function: ResolvedFrame) -> Bool {
        if let recorded = frame.isInApp {
            let name = frame.symbol ?? function.simplified
            let ruled = rules.isInApp(modulePath: frame.module, symbol: name, file: function.file, isRust: function.isRust)
            guard ruled == recorded else { return recorded }
        }
        return rules.isInApp(modulePath: frame.module, symbol: level.simplified, file: level.file, isRust: level.isRust)
    }

    /// The names as records have them: for functions of the system the short name is enough.
    private mutating func symbol(_ level: ResolvedFrame, isInApp: Bool, without present: Set<String> = []) {
        guard let name = level.simplified else { return }
        writer.field("symbol", name, LineLimits.maximumSymbolBytes)
        if isInApp, let function = level.name, function != name, !present.contains("function") {
            writer.field("function", function, LineLimits.maximumSymbolBytes)
        }
    }

    private mutating func place(_ level: ResolvedFrame, without present: Set<String> = []) {
        if let file = level.file { writer.field("file", file, StringCaps.path, keepingEnd: true) }
        if let line = level.line, !present.contains("line") { writer.field("line", Int64(line)) }
        if level.isInlined { writer.field("inlined", true) }
    }
}
