import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningShop, startShop } from '../../src/demo/server.js'
import { lastJson, runCli } from '../support/cli.js'
import { type S3Server, startS3 } from '../support/s3-server.js'

const SECRET = 'canary-secret-93c1'
const dir = mkdtempSync(join(tmpdir(), 'shoal-pages-s3-'))
const env = { AWS_ACCESS_KEY_ID: 'someone', AWS_SECRET_ACCESS_KEY: SECRET, AWS_REGION: 'us-east-1' }
let shop: RunningShop
let s3: S3Server
let said = ''

beforeAll(async () => {
  shop = await startShop({ seed: 7, pages: 12, bytes: 1_000, faults: 0, port: 0, accessLog: join(dir, 'access.log') })
  s3 = await startS3()
  writeFileSync(
    join(dir, 'keeps.ts'),
    `import { defineSpider } from 'shoal'
     export default defineSpider({
       name: 'keeps', start: ['http://127.0.0.1:${shop.port}/'], allowPrivate: ['127.0.0.1:*'], pace: { delay: '1ms', concurrency: 4 },
       savePages: true, routes: { page: { match: '**', follow: [{ links: 'a' }] } },
     })`,
  )
})
afterAll(async () => {
  await shop.close()
  await s3.end()
  rmSync(dir, { recursive: true, force: true })
})

async function shoal(...args: string[]) {
  const ran = await runCli(args, { cwd: dir, env })
  said += ran.stdout + ran.stderr
  return ran
}

describe('raw pages in S3', () => {
  it('are kept by the threads of processes, read back, checked and compacted', async () => {
    const at = ['--pages', s3.address('shop'), '--json']
    const ran = await shoal('run', 'keeps.ts', '--workers', '2', '--log-level', 'debug', ...at)
    expect(ran.code).toBe(0)
    const origin = `http://127.0.0.1:${shop.port}`
    const got = await shoal('pages', 'get', `${origin}/`, '--pages', s3.address('shop'))
    expect(got).toMatchObject({ code: 0, stderr: '', stdout: await (await fetch(`${origin}/`)).text() })
    const checked = lastJson((await shoal('pages', 'check', ...at)).stdout)
    expect(checked).toMatchObject({ damaged: 0, unreferenced: 0, idleBytes: 0, deleted: false })
    expect(Number(checked.pages)).toBeGreaterThan(12)
    expect(lastJson((await shoal('pages', 'compact', ...at)).stdout)).toMatchObject({ packsBefore: checked.packs })
    // In the folder beside the database there is nothing.
    expect(readdirSync(join(dir, '.shoal'))).not.toContain('pages')
    expect((await shoal('pages', 'get', `${origin}/`)).code).toBe(5)
  }, 60_000)

  it('that cannot be kept end the run before anything is fetched, with the next step', async () => {
    const before = readFileSync(join(dir, 'access.log'), 'utf8')
    const address = (bucket: string, port: number) => `s3://${bucket}/x?endpoint=http://127.0.0.1:${port}`
    const cases: [string, number, RegExp][] = [
      [address('no-such-bucket', s3.port), 4, /pages_missing: .*there is no such bucket at http:\/\/127.0.0.1/],
      [address('shoal-test', 1), 4, /pages_unreachable: .*unreachable \(ECONNREFUSED\)/],
      [`s3://someone:${SECRET}@bucket/x`, 2, /pages_address: the S3 address holds credentials\n.*AWS_ACCESS_KEY_ID/],
    ]
    for (const [pages, code, message] of cases) {
      const ran = await shoal('run', 'keeps.ts', '--fresh', '--pages', pages)
      expect(ran).toMatchObject({ code, stderr: expect.stringMatching(message) })
    }
    expect(readFileSync(join(dir, 'access.log'), 'utf8')).toBe(before)
  }, 60_000)

  it('leave the secret in the environment', () => {
    const files = readdirSync(join(dir, '.shoal'), { recursive: true, encoding: 'utf8', withFileTypes: true })
    const kept = files
      .filter((one) => one.isFile())
      .map((one) => readFileSync(join(one.parentPath, one.name), 'latin1'))
    expect(said.length).toBeGreaterThan(1_000)
    expect(kept.length).toBeGreaterThan(0)
    for (const text of [said, ...kept]) expect(text).not.toContain(SECRET)
  })

  it('need a package, which is named when it is missing', async () => {
    const copy = join(dir, 'elsewhere')
    cpSync(fileURLToPath(new URL('../../dist', import.meta.url)), join(copy, 'dist'), { recursive: true })
    writeFileSync(join(copy, 'package.json'), '{ "type": "module" }')
    const script = `import('./dist/store/s3/s3-client.js').then(({ loadSdk }) => loadSdk()).catch(({ code, hint }) => console.log(code, hint))`
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { cwd: copy })
    expect(stdout).toBe('pages_driver Install it: `npm install @aws-sdk/client-s3`.\n')
  })
})
