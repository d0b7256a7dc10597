// A person behind a client, who is asked for consent.

export class Person {
  asked = []; // what the person was asked, as the client was told
  action = 'accept'; // what the person does with a question: accept, decline or cancel

  answer(question) {
    this.asked.push(question);
    return this.action === 'accept' ? { action: 'accept', content: {} } : { action: this.action };
  }
}
