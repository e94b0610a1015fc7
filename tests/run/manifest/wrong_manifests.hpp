// The table of wrong manifests, wrong_manifests.txt: blocks of
//
//     ## what is wrong [schema]        [schema]: an editor's schema refuses it too
//     $ --set a.b=c                    any number of these
//     the manifest
//     => a message                     as many as there are, in their order
//
// In the manifest `{sound}` and `{trajectory}` stand for three lines that are in order, `{repeat N
// X}` for N times X, and `{count N FROM}` for N numbers from FROM (or 0) on with commas between.
#pragma once

#include <string>
#include <vector>

#include "tests/run/manifest_folder.hpp"

namespace quench::test {

struct WrongManifest {
  std::string title;
  bool refused_by_schema = false;
  std::vector<std::string> sets;
  std::string text;
  std::string message;  // lines joined by line breaks
};

// In the order of the file.
std::vector<WrongManifest> wrong_manifests();

// Makes what the manifests of the table name: run/step1..step3 and many/step1..step1000.
void add_models_of_table(const ManifestFolder& here);

}  // namespace quench::test
