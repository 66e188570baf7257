import { EventEmitter } from 'node:events'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { type REPLServer, Recoverable, start } from 'node:repl'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import type { ShellCommands } from './shell-commands.js'

export interface ReplOptions {
  readonly commands: ShellCommands
  readonly input: Readable
  readonly output: Writable
  /** A person at a terminal: a prompt, history, colours, and Ctrl-C ends what runs. Otherwise: one command after the other from `input`. */
  readonly interactive: boolean
  readonly colors: boolean
  readonly writer: (value: unknown) => string
  /** Null: none is kept. */
  readonly history: string | null
  /** Reports what a command threw. Node would print the frames of its own prompt, and of ours. */
  readonly onError: (error: unknown) => void
  /** Ctrl-C. */
  readonly onInterrupt: () => void
}

type Evaluate = REPLServer['eval']
type Context = Parameters<Evaluate>[1]
type Callback = Parameters<Evaluate>[3]

/** Node's own prompt with our commands in it. Resolves when it has ended: Ctrl-D, or the end of the input. */
export function runRepl(options: ReplOptions): Promise<void> {
  const { commands, interactive, colors, writer, onInterrupt } = options
  const lines = interactive ? null : new PassThrough()
  const server = start({
    prompt: interactive ? 'shoal> ' : '',
    input: lines ?? options.input,
    output: options.output,
    terminal: interactive,
    useColors: colors,
    useGlobal: false,
    ignoreUndefined: true,
    breakEvalOnSigint: interactive,
    preview: false,
    writer,
  })
  addCommands(server.context, commands)
  server.on('reset', (context: Context) => addCommands(context, commands))
  server.on('SIGINT', onInterrupt)
  Object.assign(server, { eval: waiting(server.eval, options) })
  reportThrown(server, options.onError)
  if (interactive && options.history !== null) keepHistory(server, options.history)
  if (lines !== null) feed(server, options.input, lines)
  return new Promise((resolve) => {
    server.once('exit', resolve)
  })
}

/** With their getters: `page` and `$` are always those of the page that was fetched last. */
function addCommands(context: Context, commands: ShellCommands): void {
  const described = Object.entries(Object.getOwnPropertyDescriptors(commands))
  Object.defineProperties(
    context,
    Object.fromEntries(described.map(([name, one]) => [name, { ...one, configurable: true }])),
  )
}

/** A promise is waited for, so that `fetch(url)` shows the page and not `Promise { <pending> }`. */
function waiting(evaluate: Evaluate, { onError }: ReplOptions): Evaluate {
  return function (this: REPLServer, code, context, file, done) {
    const answer: Callback = (error, value) => {
      if (error === null) return done(null, value)
      if (error instanceof Recoverable) return done(error, undefined)
      onError(error)
      done(null, undefined)
    }
    evaluate.call(this, code, context, file, (error, value: unknown) => {
      if (error !== null || !isThenable(value)) return answer(error, value)
      value.then(
        (settled) => answer(null, settled),
        (reason: unknown) => answer(reason as Error, undefined),
      )
    })
  }
}

/**
 * What a command throws before it has given a value does not come to its callback: up to Node 24 the prompt sends it to a domain, which prints it with a
 * stack trace.
 */
function reportThrown(server: REPLServer, onError: ReplOptions['onError']): void {
  const domain: unknown = '_domain' in server ? server._domain : null
  if (!(domain instanceof EventEmitter)) return
  domain.removeAllListeners('error')
  domain.on('error', (error: unknown) => {
    onError(error)
    server.clearBufferedCommand()
    server.displayPrompt()
  })
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

/** Line by line, the next when the prompt would be shown: a command must not run before the page that the one before it fetches is there. */
function feed(server: REPLServer, input: Readable, lines: PassThrough): void {
  const source = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })[Symbol.asyncIterator]()
  const next = () => {
    void source.next().then(({ done, value }) => {
      if (done === true) lines.end()
      else lines.write(`${value}\n`)
    })
  }
  Object.assign(server, { displayPrompt: next })
  next()
}

/** In a folder of the user, never in the project. Without a writable one there is a prompt without history. */
function keepHistory(server: REPLServer, file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  } catch {
    return
  }
  // Node creates the file for its owner only.
  server.setupHistory(file, () => {})
}
