# webrick.rb PORT
require 'webrick'
server = WEBrick::HTTPServer.new(Port: ARGV[0].to_i, BindAddress: '127.0.0.1', AccessLog: [], Logger: WEBrick::Log.new(File::NULL))
server.mount_proc('/') do |request, response|
  sleep 0.6 if request.path == '/sleep'
  response.body = "hello\n"
end
trap('TERM') { server.shutdown }
server.start
