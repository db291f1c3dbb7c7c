# Loaded before Rails' tests: writes what became of each in a line of JSON.
require "json"
require "minitest"

class SuitesReporter < Minitest::AbstractReporter
  def initialize(file)
    super()
    @file = file
  end

  def record(result)
    kind = result.skipped? ? "skipped" : result.passed? ? "passed" : "failed"
    text = result.failures.map { |failure| "#{failure.class} #{failure.message}\n#{failure.backtrace&.first(8)&.join("\n")}" }
    line = { name: "#{result.klass}.#{result.name}", kind: kind, text: kind == "failed" ? text.join("\n") : "" }
    @file.puts(JSON.generate(line.transform_values { |value| value.encode("UTF-8", invalid: :replace, undef: :replace) }))
    @file.flush
  end
end

module Minitest
  def self.plugin_suites_init(_options)
    reporter << SuitesReporter.new(File.open(ENV.fetch("SUITES_OUTCOMES"), "w"))
  end
  extensions << "suites"
end
