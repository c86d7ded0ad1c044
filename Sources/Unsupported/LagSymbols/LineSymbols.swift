/// Files and lines in records; not available here.
public enum LineSymbols {
    /// Does nothing.
    public static func enable() {}
}
