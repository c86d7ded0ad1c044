internal import LagDiagnosis

/// Files, lines and inlined functions in the records of this process's monitors.
///
/// ```swift
/// import LagMonitor
/// import LagSymbols
///
/// LineSymbols.enable()
/// var configuration = StallMonitorConfiguration()
/// configuration.symbols = .lines
/// ```
///
/// They come from an `llvm-symbolizer` that a monitor keeps as a child process while it runs. Without one, frames have only
/// names.
public enum LineSymbols {
    /// Call it before the first monitor starts; further calls have no effect. Any thread.
    public static func enable() { LineSources.use { LineSymbolizer(files: $0) } }
}
