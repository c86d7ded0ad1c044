<?php
// Stalls with a known function and line: stalls.php SCENARIO ROUNDS TRUTH LEAD. A loop waits between the stalls, and LEAD seconds before the first. Writes
// the start and end of each stall to TRUTH. TURN: a hard link to the TRUTH of the program that stalls; programs that run at the same time stall one after another.

const SECONDS = 0.35;
const RESTS = 25;
const REST_MICROSECONDS = 20000;

function compute() {
    $finish = microtime(true) + SECONDS; // @stall compute compute
    while (microtime(true) < $finish) { // @stall compute compute
    }
}

function multiply() {
    $value = 1; // @stall arithmetic multiply
    for ($round = 0; $round < 14000000; $round++) { // @stall arithmetic multiply
        $value = ($value * 31 + $round) & 0xffff; // @stall arithmetic multiply
    }
    return $value;
}

function wait() {
    usleep((int) (SECONDS * 1e6)); // @stall sleep wait
}

function read_pipe() {
    $pipe = popen("sleep " . SECONDS . "; echo x", "r");
    fgets($pipe); // @stall pipe read_pipe
    pclose($pipe); // @stall pipe read_pipe
}

function descend($depth) {
    if ($depth > 0) {
        return descend($depth - 1) + 1;
    }
    wait_deep();
    return 0;
}

function wait_deep() {
    usleep((int) (SECONDS * 1e6)); // @stall recursion wait_deep
}

function make_closure() {
    return function ($seconds) {
        usleep((int) ($seconds * 1e6)); // @stall closure {closure}
    };
}

class Shop {
    public function checkout() {
        return array_map(fn ($number) => $this->price($number), [1, 2, 3]);
    }

    public function price($number) {
        if ($number == 3) {
            usleep((int) (SECONDS * 1e6)); // @stall method Shop::price
        }
        return $number;
    }

    public static function audit() {
        usleep((int) (SECONDS * 1e6)); // @stall class-method Shop::audit
    }

    public function __call($name, $arguments) {
        usleep((int) (SECONDS * 1e6)); // @stall magic-call Shop::__call
    }

    public function __get($name) {
        usleep((int) (SECONDS * 1e6)); // @stall magic-get Shop::__get
        return 1;
    }

    public function __destruct() {
        if (!empty($this->slow)) {
            usleep((int) (SECONDS * 1e6)); // @stall destructor Shop::__destruct
        }
    }

    public $slow = false;
}

trait Priced {
    public function total() {
        usleep((int) (SECONDS * 1e6)); // @stall trait Cart::total
    }
}

class Cart implements JsonSerializable {
    use Priced;

    public function jsonSerialize(): mixed {
        usleep((int) (SECONDS * 1e6)); // @stall json-callback Cart::jsonSerialize
        return [];
    }
}

function sort_slowly() {
    $values = [2, 1];
    usort($values, function ($left, $right) {
        usleep((int) (SECONDS * 1e6)); // @stall sort-callback {closure}
        return $left <=> $right;
    });
}

function run_command() {
    exec("sleep " . SECONDS); // @stall exec run_command
}

function run_shell() {
    return `sleep 0.35`; // @stall backticks run_shell
}

function match_slowly() {
    $finish = microtime(true) + SECONDS;
    while (microtime(true) < $finish) { // @stall regex match_slowly
        preg_match("/^(a+)+$/", str_repeat("a", 16) . "b"); // @stall regex match_slowly
    }
}

function serialize_values() {
    $values = array_fill(0, 20000, ["name" => "x", "values" => [1, 2, 3]]);
    $finish = microtime(true) + SECONDS;
    while (microtime(true) < $finish) { // @stall json serialize_values
        json_encode($values); // @stall json serialize_values
    }
}

function digest() {
    $data = str_repeat("x", 4000000);
    $finish = microtime(true) + SECONDS;
    while (microtime(true) < $finish) { // @stall digest digest
        hash("sha512", $data); // @stall digest digest
    }
}

function check_password() {
    password_verify("secret", password_hash("secret", PASSWORD_BCRYPT, ["cost" => 12])); // @stall password check_password
}

function sort_values() {
    $values = range(1, 300000);
    $finish = microtime(true) + SECONDS;
    while (microtime(true) < $finish) { // @stall sort sort_values
        shuffle($values); // @stall sort sort_values
        sort($values); // @stall sort sort_values
    }
}

function handle_error() {
    try {
        throw new RuntimeException("expected");
    } catch (RuntimeException $error) {
        usleep((int) (SECONDS * 1e6)); // @stall rescue handle_error
    }
}

function ensure_done() {
    try {
        return 1;
    } finally {
        usleep((int) (SECONDS * 1e6)); // @stall ensure ensure_done
    }
}

function numbers() {
    yield 1;
    usleep((int) (SECONDS * 1e6)); // @stall generator numbers
    yield 2;
}

function take_numbers() {
    foreach (numbers() as $number) {
    }
}

function run_fiber() {
    $fiber = new Fiber(function () {
        usleep((int) (SECONDS * 1e6)); // @stall fiber {closure}
    });
    $fiber->start();
}

function connect_slowly($port) {
    @file_get_contents("http://127.0.0.1:$port/", false, stream_context_create(["http" => ["timeout" => SECONDS]])); // @stall http connect_slowly
}

function on_error($number, $text) {
    usleep((int) (SECONDS * 1e6)); // @stall error-handler on_error
    return true;
}

function fail() {
    set_error_handler("on_error");
    $missing = [][1];
    restore_error_handler();
}

function destroy() {
    $shop = new Shop();
    $shop->slow = true;
    unset($shop);
}

$stalls = [
    "compute" => fn () => compute(),
    "arithmetic" => fn () => multiply(),
    "sleep" => fn () => wait(),
    "pipe" => fn () => read_pipe(),
    "recursion" => fn () => descend(40),
    "closure" => fn () => make_closure()(SECONDS),
    "method" => fn () => (new Shop())->checkout(),
    "class-method" => fn () => Shop::audit(),
    "magic-call" => fn () => (new Shop())->unknown(),
    "magic-get" => fn () => (new Shop())->unknown,
    "destructor" => fn () => destroy(),
    "trait" => fn () => (new Cart())->total(),
    "json-callback" => fn () => json_encode(new Cart()),
    "sort-callback" => fn () => sort_slowly(),
    "exec" => fn () => run_command(),
    "backticks" => fn () => run_shell(),
    "regex" => fn () => match_slowly(),
    "json" => fn () => serialize_values(),
    "digest" => fn () => digest(),
    "password" => fn () => check_password(),
    "sort" => fn () => sort_values(),
    "rescue" => fn () => handle_error(),
    "ensure" => fn () => ensure_done(),
    "generator" => fn () => take_numbers(),
    "fiber" => fn () => run_fiber(),
    "error-handler" => fn () => fail(),
    "http" => fn () => connect_slowly($GLOBALS["port"]),
];

function takes_turn($turn, $truth) {
    if (!$turn || @link($truth, $turn)) return true;
    $reason = error_get_last()["message"];
    if (!strpos($reason, "File exists")) throw new Exception($reason);
    return false;
}

// A loop with a single wait, so that it always waits at the same place.
function main($stalls) {
    [, $name, $rounds, $truth, $lead] = $_SERVER["argv"];
    $listener = stream_socket_server("tcp://127.0.0.1:0");
    // A listener that never accepts connections.
    $silent = stream_socket_server("tcp://127.0.0.1:0");
    $GLOBALS["port"] = (int) substr(strrchr(stream_socket_get_name($silent, false), ":"), 1);
    $file = fopen($truth, "w");
    $turn = getenv("TURN");
    $due = (int) ((float) $lead / (REST_MICROSECONDS / 1e6)) + RESTS;
    for ($rests = 0, $stalled = 0; $stalled < (int) $rounds || $rests < $due;) {
        [$reads, $writes, $others] = [[$listener], null, null];
        stream_select($reads, $writes, $others, 0, REST_MICROSECONDS);
        $rests++;
        if ($stalled < (int) $rounds && $rests >= $due && takes_turn($turn, $truth)) {
            // A client waits during the stall.
            $client = stream_socket_client("tcp://" . stream_socket_get_name($listener, false));
            $start = hrtime(true);
            $stalls[$name]();
            fwrite($file, "$start " . hrtime(true) . "\n");
            if ($turn) unlink($turn);
            fclose(stream_socket_accept($listener));
            fclose($client);
            $stalled++;
            $due = $rests + RESTS;
        }
    }
}

main($stalls);
