internal import LagCapture
internal import Testing

@testable internal import LagRemote

struct ProgramFoldersTests {
    private func variant(_ file: String, _ working: String?, _ arguments: [String] = [], symbol: String? = nil) -> String? {
        let name = LanguageFrameName(language: "python", function: "get", symbol: symbol, file: file)
        return ProgramFolders(working: working, arguments: arguments).marked(name).variant
    }

    @Test func `functions of one name in two folders of a program are distinguished`() {
        let arguments = ["python3", "manage.py", "runserver"]
        let orders = variant("/srv/shop/orders/views.py", "/srv/shop", arguments)
        #expect(orders != nil && orders != variant("/srv/shop/users/views.py", "/srv/shop", arguments))
        #expect(orders == variant("orders/views.py", "/srv/shop", arguments))
        #expect(orders == variant("/srv/shop/orders/views.py", "/", ["python3", "-u", "/srv/shop/manage.py"]))
    }

    @Test func `the installation path of a program does not change the variant of a function`() {
        let first = variant("/srv/r1/orders/views.py", "/srv/r1")
        #expect(first != nil && first == variant("/srv/r2/orders/views.py", "/srv/r2"))
        for release in ["r1", "r2"] {
            #expect(variant("/srv/\(release)/app.py", "/srv/\(release)") == nil)
            #expect(variant("/srv/\(release)/app.py", "/srv", ["python3", "\(release)/app.py"]) == nil)
            #expect(variant("/srv/\(release)/app.py", "/", ["python3", "/srv/\(release)/app.py"]) == nil)
            #expect(variant("/srv/\(release)/orders/views.py", "/") == nil)
        }
    }

    @Test func `names that do not depend on a file have no folder variant`() {
        #expect(variant("/srv/shop/orders/views.go", "/srv/shop", symbol: "orders.get") == nil)
        #expect(variant("views.py", nil) == nil)
    }
}
