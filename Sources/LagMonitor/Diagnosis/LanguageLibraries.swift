/// Which source files of languages are dependencies, by where they lie: a language's own library, the runtime's inner files, what a package
/// manager installed.
enum LanguageLibraries {
    /// Folders of packages, wherever they lie; the language's libraries below its installation.
    private static let folders = [
        // Python: pip, Debian, virtual environments, eggs; the standard library is a folder with the version in its name, below.
        "/site-packages/", "/dist-packages/", "/lib/python3/",
        // JavaScript: npm, pnpm, yarn, Debian's packages.
        "/node_modules/", "/.yarn/", "/usr/share/nodejs/", "/usr/lib/nodejs/",
        // Go: the module cache, vendored modules, Debian's and golang.org's GOROOT.
        "/pkg/mod/", "/vendor/", "/usr/lib/go-", "/usr/share/go-", "/usr/local/go/src/",
        // Ruby: gems, the standard library.
        "/gems/", "/lib/ruby/", "/usr/share/rubygems-integration/",
        // PHP: Debian's packages and PEAR's; Composer's are in `vendor`, above.
        "/usr/share/php/", "/usr/local/lib/php/",
        // Perl: the standard library, Debian's packages, CPAN's, those of one user (local::lib), perlbrew's.
        "/usr/share/perl/", "/usr/share/perl5/", "/perl-base/", "/x86_64-linux-gnu/perl", "/aarch64-linux-gnu/perl",
        "/usr/local/share/perl/", "/lib/perl5/",
        "/site_perl/", "/vendor_perl/", "/perlbrew/perls/",
    ]
    /// Names that runtimes give to what is in no file.
    private static let beginnings = ["<frozen ", "<internal:", "<__array_function__", "node:", "internal/", "evalmachine."]
    /// Folders of standard libraries, `…/lib/python3.11/asyncio/events.py`; what follows is a version.
    private static let versioned = ["/lib/python3.", "/lib64/python3.", "/python3.zip/"]

    static func holds(_ file: String) -> Bool {
        beginnings.contains(where: file.hasPrefix) || folders.contains { file.contains($0) }
            || versioned.contains { file.contains($0) }
    }
}

extension InAppRules {
    /// Whether a frame that a language's runtime knows is the program's own. ``inAppPrefixes`` win over ``notInAppPrefixes``, both over the rules.
    /// - Parameters:
    ///   - file: the source file; without one only the runtime's word decides.
    ///   - isLibrary: whether it is code of a library, where the runtime says so.
    package func isInApp(languageFile file: String?, symbol: String, isLibrary: Bool?) -> Bool {
        let names = [file, file.map(ModuleName.base), symbol].compactMap { $0 }
        if Self.matches(names, inAppPrefixes) { return true }
        if Self.matches(names, notInAppPrefixes) { return false }
        if let isLibrary { return !isLibrary }
        return file.map { !LanguageLibraries.holds($0) } ?? false
    }
}
