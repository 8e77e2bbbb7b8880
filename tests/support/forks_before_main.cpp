// Preloaded into a program that is run often: it stands before its main with all its libraries loaded, which
// takes 0.3 s of a processor where libtorch is among them. For each message on the socket ISOBAR_FORKS_ON it
// forks, and the child is the program with the words, the environment, the folder and the files of the
// message (loaded_program.h).
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using Main = int (*)(int, char**, char**);
Main program_main = nullptr;

/// Texts of a list, each with a mark in front and a zero behind, up to one without; and a null pointer.
std::vector<char*> texts_from(char*& at) {
  std::vector<char*> out;
  for (; *at != '\0'; at += std::strlen(at) + 1) out.push_back(at + 1);
  ++at;
  out.push_back(nullptr);
  return out;
}

bool take(const char* path, int flags, int place) {
  const int file = open(path, flags, 0600);
  return file >= 0 && dup2(file, place) == place && (file == place || close(file) == 0);
}

int become(char* message) {
  const std::vector<char*> places = texts_from(message);  // folder, standard output, standard error
  static std::vector<char*> words, environment;           // as long as the program
  words = texts_from(message);
  environment = texts_from(message);
  if (chdir(places[0]) != 0 || !take("/dev/null", O_RDONLY, 0) || !take(places[1], O_WRONLY | O_CREAT, 1) ||
      !take(places[2], O_WRONLY | O_CREAT, 2))
    return 127;
  environ = environment.data();
  return program_main(static_cast<int>(words.size()) - 1, words.data(), environ);
}

int stand(int, char**, char**) {
  const int socket = std::atoi(std::getenv("ISOBAR_FORKS_ON"));
  static std::vector<char> message(1 << 20);
  while (true) {
    const ssize_t size = recv(socket, message.data(), message.size() - 1, 0);
    if (size <= 0) _exit(0);
    const pid_t child = fork();
    if (child == 0) {
      close(socket);
      return become(message.data());
    }
    int status = 0;
    if (send(socket, &child, sizeof child, 0) < 0 || child < 0) _exit(1);
    if (waitpid(child, &status, 0) != child || send(socket, &status, sizeof status, 0) < 0) _exit(1);
  }
}

}  // namespace

// What the C library's start calls, once all constructors ran.
extern "C" int __libc_start_main(Main main, int argc, char** argv, void (*begin)(), void (*end)(),
                                 void (*unload)(), void* stack) {
  using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  const auto start = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"));
  program_main = main;
  return start(std::getenv("ISOBAR_FORKS_ON") != nullptr ? stand : main, argc, argv, begin, end, unload,
               stack);
}
