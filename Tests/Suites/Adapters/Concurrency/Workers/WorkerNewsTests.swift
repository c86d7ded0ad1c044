import Testing

@testable import LagMonitorConcurrency

struct WorkerNewsTests {
    private static let naming = WorkerNews.namingNanoseconds
    /// When ``news()`` was last looked at.
    private static let start = 1020 + naming

    private func news() -> WorkerNews {
        var news = WorkerNews(at: 1000)
        // Those that are there already.
        #expect(news.search(threads: 4, hasEnded: false, at: 1010, last: 1000) == 1000)
        #expect(news.search(threads: 4, hasEnded: false, at: Self.start, last: Self.start - 10) == 1010)
        return news
    }

    @Test func `nothing is searched for while nothing comes or goes`() {
        var news = news()
        #expect(!news.isExpecting)
        #expect(news.search(threads: 4, hasEnded: false, at: Self.start + 10, last: Self.start) == nil)
    }

    /// Its name, by which it is found, it gives itself when it first runs.
    @Test func `a thread that has just been made is searched for until it has its name`() {
        var news = news()
        let made = Self.start + 50
        #expect(news.search(threads: 5, hasEnded: false, at: made, last: made - 10) == made - 10)
        // What the search has found, another thread, asks for a look at once.
        #expect(news.search(threads: 5, hasEnded: false, at: made + 2, last: made) == made)
        #expect(news.isExpecting)
        // Found now, it had not run at the search before.
        #expect(news.search(threads: 5, hasEnded: false, at: made + 50, last: made + 40) == made + 2)
        #expect(news.search(threads: 5, hasEnded: false, at: made + Self.naming, last: made + 90) == made + 50)
        #expect(!news.isExpecting)
        #expect(news.search(threads: 5, hasEnded: false, at: made + Self.naming + 50, last: made + Self.naming) == nil)
    }

    @Test func `threads that come one after another are each searched for again`() {
        var news = news()
        let made = Self.start + 50
        #expect(news.search(threads: 5, hasEnded: false, at: made, last: made - 10) == made - 10)
        // The first may be among those that are found.
        #expect(news.search(threads: 6, hasEnded: false, at: made + Self.naming, last: made + 90) == made)
        #expect(news.isExpecting)
        #expect(
            news.search(threads: 6, hasEnded: false, at: made + 2 * Self.naming, last: made + Self.naming + 10) == made
                + Self.naming
        )
        #expect(!news.isExpecting)
    }

    @Test func `one that took the place of another is found within a second, or when the other is known to have ended`() {
        var news = news()
        let next = Self.start + 1_000_000_000
        #expect(news.search(threads: 4, hasEnded: false, at: next - 1, last: next - 10) == nil)
        // It came at any time since the last search.
        #expect(news.search(threads: 4, hasEnded: false, at: next, last: next - 10) == Self.start)
        #expect(news.search(threads: 4, hasEnded: true, at: next + 10, last: next + 5) == next + 5)
    }
}
