# For puma.
run lambda { |env|
  case env['PATH_INFO']
  when '/sleep' then sleep 0.6
  when '/hang' then sleep 8
  when '/compute'
    stop = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.6
    nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < stop
  when '/wait'
    here, there = IO.pipe
    here.wait_readable(0.6)
    here.close
    there.close
  when '/lock' then Thread.new { sleep 0.6 }.join
  end
  [200, { 'Content-Type' => 'text/plain' }, ["hello\n"]]
}
