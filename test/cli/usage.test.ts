import { mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { asUserError, failureText } from '../../src/cli/failure.js'
import { buildProgram } from '../../src/cli/program.js'
import { styleFor } from '../../src/cli/terminal/style.js'
import { shoal } from './cli.js'

const commands = leaves(await buildProgram())

function leaves(command: Command): Command[] {
  return [command, ...command.commands.flatMap(leaves)]
}

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({ writeOut: (part) => (text += part) }).outputHelp()
  return text
}

describe('help', () => {
  it.each(commands.map((command) => [command.name(), command] as const))(
    'of %s has an example and exit codes',
    (_name, command) => {
      expect(helpOf(command)).toMatch(/Examples?:\n {2}shoal \S+/)
      expect(helpOf(command)).toMatch(/Exit codes:\n {4}0 {2}\S+/)
      expect(helpOf(command)).not.toMatch(/default:\s+(false|\[\]|\{\})/)
    },
  )

  it('is there for every command that was promised', async () => {
    const names = (await buildProgram()).commands.map((command) => command.name())
    expect(names).toEqual(
      expect.arrayContaining(
        'init demo run crawl try status pause resume cancel crawls dead links records explain export doctor'.split(' '),
      ),
    )
  })

  it('is loaded for the command that is the first word alone, and for all commands if another word may be meant', async () => {
    const loaded = async (...args: string[]) => (await buildProgram(args)).commands.map((command) => command.name())
    const all = await loaded()
    expect(await loaded('status', '--json')).toEqual(['status', 'help'])
    expect(await loaded('records', 'list', 'run')).toEqual(['records', 'help'])
    expect(all.length).toBeGreaterThan(35)
    for (const args of [['--queue', 'run', 'status'], ['help', 'run'], ['staus'], ['--help'], ['toString'], ['']])
      expect(await loaded(...args)).toEqual(all)
  })

  it('fits into 80 columns, except for words that must stay one', () => {
    const wide = commands.flatMap((command) =>
      helpOf(command)
        .split('\n')
        .filter((line) => line.length > 80 && / .* /.test(line.slice(40).trim()) && !line.startsWith('  shoal ')),
    )
    expect(wide).toEqual([])
  })

  it.each([
    [['help'], ['--help']],
    [
      ['help', 'run'],
      ['run', '--help'],
    ],
    [
      ['help', 'records', 'get'],
      ['records', 'get', '--help'],
    ],
    [['-v'], ['--version']],
  ])('%j prints what %j prints', async (short, long) => {
    const [one, other] = [await shoal(short), await shoal(long)]
    expect(one).toEqual(other)
    expect(one).toMatchObject({ code: 0, err: '' })
  })

  it('is what a bare call gives', async () => {
    const { code, out, err } = await shoal([])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain('Usage: shoal')
  })

  it('offers the common flags everywhere', () => {
    const doctor = commands.find((command) => command.name() === 'doctor')
    const help = doctor === undefined ? '' : helpOf(doctor)
    for (const flag of ['--queue', '--store', '--json', '--log-level']) expect(help).toContain(flag)
  })
})

describe('a wrong command line', () => {
  it.each([
    [['staus'], "error usage: unknown command 'staus', did you mean status?"],
    [['dead', 'lst'], "error usage: unknown command 'lst', did you mean list?"],
    [['status', '--wach'], "error usage: unknown option '--wach', did you mean --watch?"],
    [['run'], "error usage: missing required argument 'spider'"],
    [['dead'], "error usage: incomplete command: 'shoal dead' is followed by list, "],
    [['help', 'reocrds'], "error usage: there is no command 'shoal reocrds', did you mean records?"],
    [['help', 'records', 'gte'], "error usage: there is no command 'shoal records gte', did you mean get?"],
    [['help', 'status', 'more'], "error usage: 'shoal status' has no commands of its own"],
    [['records', 'get', 'a', '--key', 'b'], 'error usage: two keys: a and --key b'],
    [['demo', '--products', '-3'], "error usage: option '--products <n>' argument '-3' is invalid"],
    [['demo', '--workers', 'many'], "error usage: option '--workers <n>' argument 'many' is invalid"],
    [
      ['crawl', 'https://a.example/', '--field', 'nonsense'],
      "error usage: option '--field <name=selector>' argument 'nonsense' is invalid",
    ],
    [['crawl', 'https://a.example/', '--each', 'li'], 'error usage: --each needs fields'],
    [['crawl', 'https://a.example/', '--each', 'li', '--json-path', 'a'], 'error usage: --each is for HTML'],
    [['crawl', 'https://a.example/', '--each', '$.a', '--field', 'b=c'], 'error usage: --each takes a CSS selector'],
    [
      ['crawl', 'https://a.example/', '--format', 'markdown', '--field', 'b=c'],
      'error usage: --format stores whole pages',
    ],
    [['crawl', 'https://a.example/', '--format', 'html'], "argument 'html' is invalid"],
    [['crawl', 'https://a.example/', '--key', 'id'], 'error usage: --key names a field'],
    [['crawl', 'https://a.example/', '--key', 'id', '--field', 'a=b'], 'error usage: --key: there is no field id'],
    [['crawl', 'https://a.example/', '--out', 'pages/'], 'error usage: pages/: is a folder'],
    [['dead', 'list', '--code', 'timout'], 'did you mean timeout?'],
    [['export', '--out', 'x.pdf'], 'error usage: x.pdf: unknown format'],
    [['records', 'get'], 'error usage: no record chosen'],
    [['dead', 'purge'], 'error usage: no dead letters chosen to purge'],
  ])('%j is told in one line, with code 2 and no stack', async (args, line) => {
    const thrown: unknown = await (await buildProgram(args))
      .parseAsync(args, { from: 'user' })
      .catch((error: unknown) => error)
    const err = failureText(thrown, { json: false, debug: false, style: styleFor({}, {}) })
    expect(asUserError(thrown).exitCode).toBe(2)
    expect(err).toContain(line)
    expect(err.trimEnd().split('\n')).toHaveLength(2)
    expect(err).toMatch(/\n {2}→ \S/)
  })

  it('is one JSON line with --json', async () => {
    const { code, err } = await shoal(['staus', '--json'])
    expect(code).toBe(2)
    expect(JSON.parse(err)).toEqual({
      error: { code: 'usage', message: expect.stringContaining('staus'), hint: expect.any(String) },
    })
  })

  it('may come from the environment', async () => {
    const { code, err } = await shoal(['status'], { env: { SHOAL_WORKERS: 'lots' } })
    expect(code).toBe(3)
    expect(err).toContain('error config_invalid: SHOAL_WORKERS')
  })
})

describe('a command that only looks', () => {
  it('does not make a database', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'shoal-cli-'))
    for (const args of [
      ['status'],
      ['crawls', 'list'],
      ['dead', 'list'],
      ['export'],
      ['explain', 'https://a.example/'],
    ]) {
      const { code, err } = await shoal(args, { cwd })
      expect(code).toBe(5)
      expect(err).toContain('error not_found: no database')
    }
    expect(readdirSync(cwd)).toEqual([])
  })
})
