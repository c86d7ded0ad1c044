# Stalls with a known function and line: stalls.rb SCENARIO ROUNDS TRUTH LEAD. A loop waits between the stalls, and LEAD seconds before the first. Writes
# the start and end of each stall to TRUTH. TURN: a hard link to the TRUTH of the program that stalls; programs that run at the same time stall one after another.
require "digest"
require "fiddle"
require "json"
require "socket"
require "zlib"

SECONDS = 0.35
# A sleep that does not release Ruby's lock.
KEEPING_SLEEP = Fiddle::Function.new Fiddle::Handle::DEFAULT["usleep"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT, need_gvl: true

def compute
  finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + SECONDS # @stall compute compute
  count = 0
  while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish # @stall compute compute
    count += 1 # @stall compute compute
  end
end

def multiply
  value = 1
  round = 0
  while round < 18_000_000 # @stall arithmetic multiply
    value = (value * 31 + round) & 0xffff # @stall arithmetic multiply
    round += 1 # @stall arithmetic multiply
  end
end

def wait
  sleep SECONDS # @stall sleep wait
end

def read_pipe
  reader, writer = IO.pipe
  thread = Thread.new { Kernel.sleep SECONDS; writer.write "x" }
  reader.read 1 # @stall pipe read_pipe
  thread.join
end

def wait_for_lock
  lock = Mutex.new
  thread = Thread.new { lock.synchronize { Kernel.sleep SECONDS } }
  Thread.pass until lock.locked?
  lock.lock # @stall lock wait_for_lock
  thread.join
end

def keep_lock
  KEEPING_SLEEP.call (SECONDS * 1_000_000).to_i # @owner gvl keep_lock
end

def wait_for_ruby
  started = false
  thread = Thread.new { started = true; keep_lock } # @stall gvl wait_for_ruby
  # On a busy machine the thread may start later.
  Kernel.sleep 0.001 until started # @stall gvl wait_for_ruby
  thread.join # @stall gvl wait_for_ruby
end

# Takes about as long as a stall, without releasing the lock.
def sort_numbers(numbers)
  numbers.sort # @owner gvl-compute sort_numbers
end

def wait_for_order
  random = Random.new 1
  numbers = Array.new(800_000) { random.rand } # @stall gvl-compute wait_for_order
  started = false
  thread = Thread.new { started = true; sort_numbers numbers } # @stall gvl-compute wait_for_order
  Kernel.sleep 0.001 until started # @stall gvl-compute wait_for_order
  thread.join # @stall gvl-compute wait_for_order
end

def join_thread
  Thread.new { Kernel.sleep SECONDS }.join # @stall join join_thread
end

def descend(depth)
  return descend(depth - 1) + 1 if depth > 0
  sleep SECONDS # @stall recursion descend
  0
end

def make_closure
  lambda do |seconds|
    sleep seconds # @stall closure block in make_closure
  end
end

class Shop
  def checkout
    [1, 2, 3].map do |number|
      price number
    end
  end

  def price(number)
    sleep SECONDS if number == 3 # @stall method price
    number
  end

  def self.audit
    sleep SECONDS # @stall class-method audit
  end

  def method_missing(name, *)
    sleep SECONDS # @stall method-missing method_missing
  end

  def respond_to_missing?(*) = true

  define_method(:defined) do
    sleep SECONDS # @stall define-method block in <class:Shop>
  end
end

def sort_slowly
  [2, 1].sort do |left, right|
    sleep SECONDS # @stall sort-callback block in sort_slowly
    left <=> right
  end
end

def run_command
  system "sleep", SECONDS.to_s # @stall system run_command
end

def run_shell
  `sleep #{SECONDS}` # @stall backticks run_shell
end

def match
  finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + SECONDS
  while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish # @stall regex match
    "a".*(18).concat("b").match?(/^(a+)+$/) # @stall regex match
  end
end

def serialize
  values = Array.new(3000) { |number| { name: number.to_s, values: [number, number + 1] } }
  finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + SECONDS
  while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish # @stall json serialize
    JSON.generate values # @stall json serialize
  end
end

def collect
  finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + SECONDS
  while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish # @stall gc collect
    GC.start # @stall gc collect
  end
end

def compress
  data = "abcdefg" * 100_000
  finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + SECONDS
  while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish # @stall zlib compress
    Zlib::Deflate.deflate data # @stall zlib compress
  end
end

def digest
  data = "x" * 4_000_000
  finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + SECONDS
  while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish # @stall digest digest
    Digest::SHA512.hexdigest data # @stall digest digest
  end
end

def handle_error
  raise "expected"
rescue RuntimeError
  sleep SECONDS # @stall rescue rescue in handle_error
end

def ensure_done
  nil
ensure
  sleep SECONDS # @stall ensure ensure_done
end

def take_numbers
  numbers = Enumerator.new do |yielder|
    yielder << 1
    sleep SECONDS # @stall enumerator block in take_numbers
    yielder << 2
  end
  numbers.each { |number| number }
end

module Slowly
  refine Array do
    def slowest
      sleep SECONDS # @stall refinement slowest
    end
  end
end
using Slowly

STALLS = {
  "compute" => -> { compute },
  "arithmetic" => -> { multiply },
  "sleep" => -> { wait },
  "pipe" => -> { read_pipe },
  "lock" => -> { wait_for_lock },
  "gvl" => -> { wait_for_ruby },
  "gvl-compute" => -> { wait_for_order },
  "join" => -> { join_thread },
  "recursion" => -> { descend 40 },
  "closure" => -> { make_closure.call SECONDS },
  "method" => -> { Shop.new.checkout },
  "class-method" => -> { Shop.audit },
  "method-missing" => -> { Shop.new.unknown },
  "define-method" => -> { Shop.new.defined },
  "sort-callback" => -> { sort_slowly },
  "system" => -> { run_command },
  "backticks" => -> { run_shell },
  "regex" => -> { match },
  "json" => -> { serialize },
  "gc" => -> { collect },
  "zlib" => -> { compress },
  "digest" => -> { digest },
  "rescue" => -> { handle_error },
  "ensure" => -> { ensure_done },
  "enumerator" => -> { take_numbers },
  "refinement" => -> { [1].slowest },
}.freeze
RESTS = 25
REST_SECONDS = 0.02
TURN = ENV["TURN"]

def takes_turn
  !TURN || File.link(ARGV[2], TURN).zero?
rescue Errno::EEXIST
  false
end

def stall(name, listener, file)
  # A client waits during the stall.
  client = TCPSocket.new "127.0.0.1", listener.addr[1]
  start = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  STALLS[name].call
  file.puts "#{start} #{Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)}"
  file.flush
  File.unlink TURN if TURN
  listener.accept.close
  client.close
end

# A loop with a single wait, so that it always waits at the same place.
def main
  name, rounds, truth, lead = ARGV
  listener = TCPServer.new "127.0.0.1", 0
  file = File.open(truth, "w")
  rests = 0
  stalled = 0
  due = (lead.to_f / REST_SECONDS).to_i + RESTS
  while stalled < rounds.to_i || rests < due
    IO.select [listener], nil, nil, REST_SECONDS
    rests += 1
    if stalled < rounds.to_i && rests >= due && takes_turn
      stall name, listener, file
      stalled += 1
      due = rests + RESTS
    end
  end
end

main
