internal import Foundation
internal import HeapModule
internal import Yams

// Libraries that read and write the program's data: documents, databases, files, memory.

extension Corpus {
    static let dataLibraries: [Scenario] = [
        Scenario("json-decode", "JSONDecoder", ["cpu"], ["OrderArchive.load", "ArchivedOrder.init", "ArchivedOrder.Line.init"]) {
            try OrderArchive().load(for: 610)
        },
        Scenario(
            "plist-encode",
            "PropertyListEncoder",
            ["cpu"],
            ["OrderArchive.save", "ArchivedOrder.encode", "ArchivedOrder.Line.encode"]
        ) {
            try OrderArchive().save(for: 430)
        },
        Scenario("custom-decode", "an init(from:) that computes", ["cpu"], ["Price.check"], callers: ["Price.init"]) {
            PriceList.read(try JSONEncoder().encode((0..<50).map(Price.init(cents:))), for: 460)
        },
        Scenario("file-enumerate", "the files below a folder", ["cpu", "syscall"], ["AssetIndex.scan"]) {
            AssetIndex.scan("/usr/share", for: 700)
        },
        Scenario("yaml", "a YAML document", ["cpu"], ["Manifests.parse"]) {
            try Manifests.parse((0..<400).map { "key\($0): [a, b, {c: \($0)}]" }.joined(separator: "\n"), for: 580)
        },
        Scenario("heap", "a heap of Collections", ["cpu"], ["JobQueue.drain"]) { JobQueue.drain(for: 470) },
        Scenario("page-touch", "first accesses to pages of new memory", ["page_fault", "cpu", "syscall"], ["Buffers.touch"]) {
            Buffers.touch(for: 430)
        },
        Scenario("allocations", "many small arrays", ["cpu"], ["Buffers.allocate"]) { Buffers.allocate(for: 360) },
        Scenario("grdb-write", "a transaction of GRDB", ["cpu"], ["Inventory.importAll"]) { try Inventory().importAll(for: 500) },
        Scenario("grdb-fetch", "records that GRDB reads", ["cpu"], ["Inventory.fetchAll"]) { try Inventory().fetchAll(for: 450) },
    ]
}

private struct ArchivedOrder: Codable {
    struct Line: Codable {
        let article: String
        let price: Double
    }

    let number: Int
    let customer: String
    let lines: [Line]
}

private final class OrderArchive {
    private let data: Data

    init() throws {
        let lines = (0..<10).map { ArchivedOrder.Line(article: "article \($0)", price: 1.5) }
        data = try JSONEncoder().encode((0..<400).map { ArchivedOrder(number: $0, customer: "customer \($0)", lines: lines) })
    }

    @inline(never) func load(for milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        var orders = 0
        while !deadline.isOver { orders += (try? JSONDecoder().decode([ArchivedOrder].self, from: data).count) ?? 0 }
        return orders
    }

    @inline(never) func save(for milliseconds: Int) throws -> Int {
        let orders = try JSONDecoder().decode([ArchivedOrder].self, from: data)
        let (deadline, encoder) = (Deadline(milliseconds), PropertyListEncoder())
        var bytes = 0
        while !deadline.isOver { bytes += try encoder.encode(orders).count }
        return bytes
    }
}

private struct Price: Codable {
    enum CodingKeys: CodingKey { case cents }
    let cents: Int

    init(cents: Int) { self.cents = cents }
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        cents = Price.check(try container.decode(Int.self, forKey: .cents))
    }

    @inline(never) static func check(_ cents: Int) -> Int {
        var digit = cents
        for step in 0..<200_000 { digit = (digit &* 7 &+ step) % 1_009 }
        return digit
    }
}

private enum PriceList {
    @inline(never) static func read(_ data: Data, for milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        var prices = 0
        while !deadline.isOver { prices += (try? JSONDecoder().decode([Price].self, from: data).count) ?? 0 }
        return prices
    }
}

private enum AssetIndex {
    @inline(never) static func scan(_ path: String, for milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        var bytes = 0
        while !deadline.isOver {
            guard let files = FileManager.default.enumerator(atPath: path) else { return 0 }
            while let file = files.nextObject() as? String, !deadline.isOver { bytes += file.utf8.count }
        }
        return bytes
    }
}

private enum Manifests {
    @inline(never) static func parse(_ text: String, for milliseconds: Int) throws -> Int {
        let deadline = Deadline(milliseconds)
        var entries = 0
        while !deadline.isOver { entries += (try Yams.load(yaml: text) as? [String: Any])?.count ?? 0 }
        return entries
    }
}

private enum JobQueue {
    @inline(never) static func drain(for milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        var sum = 0
        while !deadline.isOver {
            var jobs = Heap<Int>()
            for job in 0..<3_000 { jobs.insert((job &* 7_919) % 3_001) }
            while let job = jobs.popMin() { sum &+= job }
        }
        return sum
    }
}

private enum Buffers {
    @inline(never) static func touch(for milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        let (bytes, page) = (64 << 20, 4_096)
        var rounds = 0
        while !deadline.isOver {
            guard let memory = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) else { return 0 }
            for offset in stride(from: 0, to: bytes, by: page) { memory.storeBytes(of: 1, toByteOffset: offset, as: UInt8.self) }
            munmap(memory, bytes)
            rounds += 1
        }
        return rounds
    }

    @inline(never) static func allocate(for milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        var count = 0
        while !deadline.isOver {
            var arrays: [[Int]] = []
            for number in 0..<300 { arrays.append(Array(repeating: number, count: 40)) }
            count += arrays.count
        }
        return count
    }
}
