internal import Foundation
internal import GRDB

/// A GRDB table, in memory.
final class Inventory: Sendable {
    private struct Article: Codable, FetchableRecord, PersistableRecord {
        let id: Int
        let name: String
    }

    private let database: DatabaseQueue

    init() throws {
        database = try DatabaseQueue()
        try database.write { try $0.execute(sql: "CREATE TABLE article (id INTEGER PRIMARY KEY, name TEXT)") }
    }

    /// - Returns: the number of articles.
    @inline(never) func importAll(for milliseconds: Int) throws -> Int {
        let deadline = Deadline(milliseconds)
        return try database.write { database in
            var articles = 0
            while !deadline.isOver {
                try Article(id: articles, name: "article \(articles)").insert(database)
                articles += 1
            }
            return articles
        }
    }

    /// - Returns: the number of articles that were read.
    @inline(never) func fetchAll(for milliseconds: Int) throws -> Int {
        try database.write { database in
            for number in 0..<2_000 { try Article(id: number, name: "article \(number)").insert(database) }
        }
        let deadline = Deadline(milliseconds)
        return try database.read { database in
            var articles = 0
            while !deadline.isOver { articles += try Article.fetchAll(database).count }
            return articles
        }
    }

    @inline(never) func count() throws -> Int { try database.read { try Article.fetchCount($0) } }

    /// Blocks other users of the table.
    func lock(milliseconds: Int) { try? database.write { _ in _ = usleep(UInt32(milliseconds) * 1_000) } }
}
