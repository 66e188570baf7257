import { describe, expect, it } from 'vitest'
import { OutputText } from '../../../src/run/output/output-text.js'

function messagesOf(...pieces: (string | Uint8Array)[]): string[] {
  const messages: string[] = []
  const text = new OutputText((message) => messages.push(message))
  for (const piece of pieces) text.add(piece)
  text.flush()
  return messages
}

describe('what is written to a stream', () => {
  it('is one message for each write that ends a line', () => {
    expect(messagesOf('one\n', 'two\n')).toEqual(['one', 'two'])
    expect(messagesOf('a table\nof two lines\n')).toEqual(['a table\nof two lines'])
    expect(messagesOf('\n')).toEqual([''])
  })

  it('waits for its line feed, or for the end', () => {
    expect(messagesOf('one ', 'two\n', 'three')).toEqual(['one two', 'three'])
    expect(messagesOf('', '')).toEqual([])
  })

  it('has no colours, and neither clears the screen nor sets its title', () => {
    expect(messagesOf('\x1b[31mred\x1b[39m \x1b]0;title\x07\x1b[2J\x1b[Hhome\n')).toEqual(['red home'])
  })

  it('is the last state of a line that is drawn again', () => {
    expect(messagesOf('10 %\r50 %\r100 %\r\n', 'done\r\n')).toEqual(['100 %', 'done'])
  })

  it('is short, and says how long it was', () => {
    const [message = ''] = messagesOf(`${'x'.repeat(10_000_000)}\n`)
    expect(message).toHaveLength(4_000 + '… (10000001 characters)'.length)
    expect(message).toMatch(/x… \(10000001 characters\)$/)
    expect(messagesOf(Buffer.alloc(10_000_000, 'y'))[0]).toMatch(/^y{4000}… \(10000000 characters\)$/)
  })

  it('is short also if it is written in small pieces without end', () => {
    const [message = ''] = messagesOf(...Array.from({ length: 100_000 }, () => '.'))
    expect(message).toMatch(/^\.{4000}… \(100000 characters\)$/)
  })

  it('may be binary', () => {
    expect(messagesOf(Buffer.from('grün\n'))).toEqual(['grün'])
    expect(messagesOf(Uint8Array.of(0xff, 0xfe, 0x0a))).toEqual(['\ufffd\ufffd'])
  })
})
