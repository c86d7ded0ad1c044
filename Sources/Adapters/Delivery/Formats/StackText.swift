internal import LagOutput

/// A stack as text, for formats that have one field for it: one frame per line, leaf first.
///
///     Shop.render + 12 at /src/shop.swift:42 (shop + 0x1000, build-id 85a497a7…)
///
/// It contains everything that later symbolication needs: the ELF address and the build-id of its file.
enum StackText {
    /// Appends the first `count` frames, escaped for a JSON string; stops once there are over `maxBytes` bytes.
    static func append(_ frames: [StallRecord.Frame], count: Int, maxBytes: Int, to bytes: inout [UInt8]) {
        for (index, frame) in frames.prefix(count).enumerated() where bytes.count <= maxBytes {
            if index > 0 { JSONEscaping.append("\n", to: &bytes) }
            append(frame, to: &bytes)
        }
    }

    private static func append(_ frame: StallRecord.Frame, to bytes: inout [UInt8]) {
        if let symbol = frame.symbol {
            JSONEscaping.append(symbol, maxBytes: LineLimits.maximumSymbolBytes, to: &bytes)
            if let offset = frame.symbolOffset {
                JSONEscaping.append(" + ", to: &bytes)
                Decimal.append(offset, digits: 1, to: &bytes)
            }
        } else {
            Hexadecimal.append(frame.pc, to: &bytes)
        }
        if let file = frame.file {
            JSONEscaping.append(" at ", to: &bytes)
            JSONEscaping.append(file, maxBytes: StringCaps.path, keepingEnd: true, to: &bytes)
            if let line = frame.line { JSONEscaping.append(":\(line)", to: &bytes) }
        }
        if frame.inlined == true { JSONEscaping.append(frame.tailCall == true ? " [tail call]" : " [inlined]", to: &bytes) }
        guard let module = frame.module else { return }
        JSONEscaping.append(" (", to: &bytes)
        JSONEscaping.append(module, maxBytes: StringCaps.path, keepingEnd: true, to: &bytes)
        if let offset = frame.offset {
            JSONEscaping.append(" + ", to: &bytes)
            Hexadecimal.append(offset, to: &bytes)
        }
        if let buildID = frame.buildID {
            JSONEscaping.append(", build-id ", to: &bytes)
            JSONEscaping.append(buildID, maxBytes: StringCaps.buildID, to: &bytes)
        }
        JSONEscaping.append(")", to: &bytes)
    }
}
