internal import Glibc
internal import LagCapture
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// Functions without a name of their own, as routes of many frameworks are: what distinguishes them from others that are called the same.
struct NamelessFunctionTests {
    struct Sample: Sendable {
        let interpreter, name: String
        /// What may stand before the program; two functions, of which the argument says which is called.
        let head, other, program: String
    }

    static let samples = [
        Sample(
            interpreter: "/usr/bin/ruby",
            name: "block in <main>",
            head: "",
            other: "MORE = [1, 2].sum\n",
            program: """
                $stdout.sync = true
                ROUTES = {
                  "list" => proc { STDOUT.write "ready\\n"; sleep 600 },
                  "order" => proc { number = 3
                    STDOUT.write "ready\\n"; sleep 600; number },
                }
                ROUTES[ARGV[0]].call
                """
        ),
        Sample(
            interpreter: "/usr/bin/php8.2",
            name: "{closure}",
            head: "<?php\n",
            other: "<?php\n$more = [1, 2];\n",
            program: """
                $routes = [
                  "list" => function () { echo "ready\\n"; sleep(600); },
                  "order" => function () { $number = 3; echo "ready\\n"; sleep(600); return $number; },
                ];
                $routes[$argv[1]]();
                """
        ),
        Sample(
            interpreter: "/usr/bin/perl",
            name: "main::__ANON__",
            head: "",
            other: "my @more = (1, 2);\n",
            program: """
                $| = 1;
                my %routes = (
                  list => sub { print "ready\\n"; sleep 600; },
                  order => sub { my $number = 3; print "ready\\n"; sleep 600; return $number; },
                );
                $routes{$ARGV[0]}->();
                """
        ),
    ]

    private func variant(_ sample: Sample, _ head: String, _ route: String) throws -> String? {
        let process = try InterpretedProcess(sample.interpreter, head + sample.program, file: "shop", [route])
        var found: String?
        _ = eventually {
            found = process.variants()[sample.name]
            return found != nil
        }
        return found
    }

    @Test(arguments: samples.indices.filter { access(samples[$0].interpreter, X_OK) == 0 })
    func `two of one name are different, wherever they stand in the file`(index: Int) throws {
        let sample = Self.samples[index]
        let list = try #require(try variant(sample, sample.head, "list"))
        #expect(try variant(sample, sample.other, "list") == list)
        let order = try #require(try variant(sample, sample.head, "order"))
        #expect(order != list)
    }
}
