/// Names that cgo gives to what it generates, without a hash of the package's files: each change of one of them changes it,
/// and with it the fingerprints of stalls.
///
/// In `_cgo_c41da742855b_Cfunc_price`, Go calls the C function `price`; in `_cgoexp_c41da742855b_visit`, C calls the Go function
/// `visit` (`cPrefix` of `src/cmd/cgo/main.go`, up to Go 1.24). Any thread.
package enum CgoName {
    private static let beginnings = ["_cgo", "_cgoexp"]
    private static let hashDigits = 12

    /// `_cgo_Cfunc_price` of the name above; others as they are.
    package static func withoutHash(_ name: String) -> String {
        let parts = name.split(separator: "_", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0].isEmpty, beginnings.contains("_\(parts[1])"), parts[2].utf8.count == hashDigits,
            parts[2].utf8.allSatisfy({ Hexadecimal.value($0) != nil })
        else { return name }
        return "_\(parts[1])_\(parts[3])"
    }
}
