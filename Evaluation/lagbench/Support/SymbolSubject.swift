internal import Foundation
internal import LagDiagnosis

/// The program in which names and lines are looked up: this one, or a named one.
struct SymbolSubject {
    /// The size of a batch, as large as a stack.
    static let frames = 30

    let path: String
    let buildID: String
    let bytes: Int
    /// Whether it is this program.
    let isOwn: Bool
    /// The address range of its code.
    private let code: Range<UInt64>

    /// - Parameter given: the named program; nil: this one.
    init(_ given: String?) throws {
        path = URL(fileURLWithPath: given ?? "/proc/self/exe").resolvingSymlinksInPath().path
        isOwn = given == nil
        guard let summary = BinarySummary(path: path) else { throw BenchmarkFailure("\(path): not a program with a build-id") }
        guard summary.hasLines else { throw BenchmarkFailure("\(path): the program has no line tables") }
        buildID = summary.buildID
        let file = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
        bytes = file.count
        guard let code = Self.code(in: file) else { throw BenchmarkFailure("\(path): no code was found") }
        self.code = code
    }

    /// The executable segment of a 64-bit ELF file (System V ABI, chapter 5, "Program Header").
    private static func code(in file: Data) -> Range<UInt64>? {
        func number<Number: FixedWidthInteger>(_ offset: Int, as type: Number.Type) -> Number {
            guard offset >= 0, offset + MemoryLayout<Number>.size <= file.count else { return 0 }
            return file.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: type).littleEndian }
        }
        let table = Int(clamping: number(32, as: UInt64.self))
        let (entryBytes, count) = (Int(number(54, as: UInt16.self)), Int(number(56, as: UInt16.self)))
        for index in 0..<count {
            let header = table + index * entryBytes
            let (load, executable) = (UInt32(1), UInt32(1))
            guard number(header, as: UInt32.self) == load, number(header + 4, as: UInt32.self) & executable != 0 else { continue }
            let start = number(header + 16, as: UInt64.self)
            return start..<start + number(header + 40, as: UInt64.self)
        }
        return nil
    }

    /// Batches of addresses of functions, spread over the code, without duplicates; the same in every run.
    func batches(_ count: Int) throws -> [[SymbolQuery]] {
        var symbolizer = Symbolizer()
        let wanted = count * Self.frames
        // Some addresses are between functions.
        let step = max(1, code.count / (wanted * 2 + 1000))
        let candidates = stride(from: code.lowerBound, to: code.upperBound, by: step).map {
            SymbolQuery(modulePath: path, buildID: buildID, offset: $0, isReturnAddress: true)
        }
        let named = zip(candidates, symbolizer.resolve(candidates)).filter { $0.1 != nil }.map(\.0)
        guard named.count >= wanted else { throw BenchmarkFailure("\(path): \(named.count) addresses of \(wanted) have names") }
        // Each batch contains addresses from the whole program.
        let stride = named.count / wanted
        return (0..<count).map { batch in (0..<Self.frames).map { named[($0 * count + batch) * stride] } }
    }

    /// Facts about the subject.
    func annotating(_ line: BenchLine) -> BenchLine {
        line.annotating("program_mb", BenchLine.format(Double(bytes) / 1_000_000)).annotating("frames", Self.frames)
    }
}
