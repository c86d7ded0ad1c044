internal import CLibraryStalls
internal import Dispatch
internal import Foundation
internal import GRDB
internal import Yams

// Swift packages for data: their modules are linked into the executable, but are not the program's own modules.

extension Corpus {
    static let data: [Scenario] = [
        Scenario(
            "grdb-query",
            ["cpu"],
            ["closure in loadTimeline"],
            caller: "loadTimeline",
            "rows are fetched and counted",
            preparing: {
                let mail = try Mailbox.make()
                return { loadTimeline(mail, until: $0) }
            }
        ),
        Scenario(
            "grdb-records",
            ["cpu"],
            ["closure in loadMessages", "Message.init"],
            caller: "loadMessages",
            "records are decoded; the compiler generated Message.init(from:)",
            preparing: {
                let mail = try Mailbox.make()
                return { loadMessages(mail, until: $0) }
            }
        ),
        Scenario(
            "grdb-busy",
            ["syscall"],
            ["saveDraft"],
            "another connection writes: SQLite sleeps and retries, before it calls the transaction's closure",
            preparing: {
                let (mail, other) = try Mailbox.makeTwo()
                return { end in
                    let begun = DispatchSemaphore(value: 0)
                    try onThread("importer") {
                        try? other.write { database in
                            try database.execute(sql: "INSERT INTO message(subject) VALUES ('x')")
                            begun.signal()
                            rest_until(end)
                        }
                    }
                    begun.wait()
                    return saveDraft(mail)
                }
            }
        ),
        Scenario(
            "grdb-queue-in-use",
            ["lock"],
            ["countUnread"],
            owner: "mail-indexer",
            "the database's queue is in use by another thread",
            preparing: {
                let mail = try Mailbox.make()
                return { end in
                    let begun = DispatchSemaphore(value: 0)
                    try onThread("mail-indexer") {
                        try? mail.read { _ in
                            begun.signal()
                            rest_until(end)
                        }
                    }
                    begun.wait()
                    return countUnread(mail)
                }
            }
        ),
        Scenario("yams-load", ["cpu"], ["loadConfiguration"], "Yams.load", loadConfiguration),
        Scenario(
            "yams-decode",
            ["cpu"],
            ["decodeManifest", "Manifest.init", "Manifest.Part.init"],
            "YAMLDecoder; the compiler generated the two init(from:)",
            decodeManifest
        ),
        Scenario("yams-dump", ["cpu"], ["writeManifest"], "Yams.dump", writeManifest),
    ]
}

struct Message: Codable, FetchableRecord, PersistableRecord {
    var id: Int64?
    var subject: String
}

enum Mailbox {
    static func make() throws -> DatabaseQueue {
        let queue = try DatabaseQueue()
        try fill(queue)
        return queue
    }

    /// Two connections to one file, which exists as long as the process.
    static func makeTwo() throws -> (DatabaseQueue, DatabaseQueue) {
        var path = [CChar](repeating: 0, count: 64)
        guard scratch_file(0, &path) >= 0 else { throw Unavailable(reason: "no file in /var/tmp") }
        let name = path.withUnsafeBufferPointer { strdup($0.baseAddress!)! }
        remove_at_end(name)
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        let queues = try (
            DatabaseQueue(path: String(cString: name), configuration: configuration),
            DatabaseQueue(path: String(cString: name), configuration: configuration)
        )
        try fill(queues.0)
        return queues
    }

    private static func fill(_ queue: DatabaseQueue) throws {
        try queue.write { database in
            try database.execute(sql: "CREATE TABLE message (id INTEGER PRIMARY KEY, subject TEXT)")
            for number in 0..<500 { try Message(subject: "subject \(number)").insert(database) }
        }
    }
}

@inline(never)
func loadTimeline(_ mail: DatabaseQueue, until end: moment) -> Int {
    let rows = try? mail.read { database in
        var rows = 0
        while moment_now() < end {
            rows += try Row.fetchAll(database, sql: "SELECT * FROM message WHERE subject LIKE '%1%'").count
        }
        return rows
    }
    return rows ?? -1
}

@inline(never)
func loadMessages(_ mail: DatabaseQueue, until end: moment) -> Int {
    let messages = try? mail.read { database in
        var messages = 0
        while moment_now() < end { messages += try Message.fetchAll(database).count }
        return messages
    }
    return messages ?? -1
}

@inline(never)
func saveDraft(_ mail: DatabaseQueue) -> Int {
    let saved: ()? = try? mail.write { try $0.execute(sql: "UPDATE message SET subject = 'draft' WHERE id = 1") }
    return saved == nil ? 0 : 1
}

@inline(never)
func countUnread(_ mail: DatabaseQueue) -> Int {
    let count = try? mail.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM message") }
    return (count ?? nil) ?? -1
}

private let manifestText = """
    name: tool
    sizes: [1, 2.5, 3]
    parts:

    """ + (0..<60).map { "  - {title: 'part \($0)', weight: \($0).5, tags: [a, b]}\n" }.joined()

struct Manifest: Codable {
    struct Part: Codable {
        let title: String
        let weight: Double
        let tags: [String]
    }

    let name: String
    let parts: [Part]
}

func loadConfiguration(until end: moment) -> Int {
    var entries = 0
    while moment_now() < end { entries += ((try? Yams.load(yaml: manifestText)) as? [String: Any])?.count ?? 0 }
    return entries
}

func decodeManifest(until end: moment) -> Int {
    var parts = 0
    while moment_now() < end { parts += (try? YAMLDecoder().decode(Manifest.self, from: manifestText).parts.count) ?? 0 }
    return parts
}

func writeManifest(until end: moment) -> Int {
    let object: [String: Any] = [
        "name": "tool", "parts": (0..<40).map { ["title": "part \($0)", "weight": 1.5] as [String: Any] },
    ]
    var bytes = 0
    while moment_now() < end { bytes += (try? Yams.dump(object: object).utf8.count) ?? 0 }
    return bytes
}
