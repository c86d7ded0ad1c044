internal import LagOutput

/// Marks a finished line as late: it was kept on disk, and is sent after newer events happened.
extension LateField {
    private static let all = RecordFormat.all.map(\.lateField)

    /// The line with the mark; unchanged if its format is unknown.
    static func marked(_ line: [UInt8]) -> [UInt8] {
        let mark = all.first { mark in
            line.count > mark.opening.count + mark.closing.count && line.starts(with: mark.opening)
                && line.suffix(mark.closing.count).elementsEqual(mark.closing)
        }
        guard let mark else { return line }
        let end = line.count - mark.closing.count
        let isFirst = [UInt8(ascii: "{"), UInt8(ascii: "[")].contains(line[end - 1])
        return line[..<end] + (isFirst ? [] : [UInt8(ascii: ",")]) + mark.member + mark.closing
    }
}
