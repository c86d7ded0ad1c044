import Dispatch

/// Standard input, line by line.
public enum Input {
    /// Reads on a separate queue, so that waiting for input does not occupy a thread of the concurrency pool.
    public static func lines() -> AsyncStream<String> {
        AsyncStream { lines in
            DispatchQueue(label: "input").async {
                while let line = readLine() { lines.yield(line) }
                lines.finish()
            }
        }
    }
}
